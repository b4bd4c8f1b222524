// npm's oidc-provider as an authorisation server: rotation with reuse detection, device flow, revocation, introspection.
// Environment: PORT, MODULES (the folder of node_modules), TOKEN_S (life of an access token). One JSON line an event.
const { Provider } = await import(`${process.env.MODULES}/oidc-provider/lib/index.js`);

const issuer = `http://127.0.0.1:${process.env.PORT}`;
const scopes = ['openid', 'offline_access', 'mail', 'calendar', 'bank'];
const device = 'urn:ietf:params:oauth:grant-type:device_code';
const redirects = ['http://127.0.0.1/callback', 'http://localhost/'];

const provider = new Provider(issuer, {
  clients: [
    { client_id: 'forewatch', token_endpoint_auth_method: 'none', application_type: 'native', redirect_uris: redirects,
      grant_types: ['authorization_code', 'refresh_token', device], response_types: ['code'], scope: scopes.join(' ') },
    { client_id: 'confidential', client_secret: 'a+secret/with=signs', application_type: 'native',
      redirect_uris: redirects, grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
      scope: scopes.join(' ') },
    { client_id: 'imap', client_secret: 'imap-secret', redirect_uris: [], response_types: [], grant_types: [] },
  ],
  scopes,
  claims: { openid: ['sub'] },
  findAccount: (ctx, id) => ({ accountId: id, claims: async () => ({ sub: id, email: id }) }),
  features: {
    devInteractions: { enabled: true },
    deviceFlow: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    revocation: { enabled: true, allowedPolicy: (ctx, client, token) => token.clientId === client.clientId },
  },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  issueRefreshToken: async (ctx, client, code) =>
    client.grantTypeAllowed('refresh_token') && code.scopes.has('offline_access'),
  ttl: { AccessToken: +process.env.TOKEN_S, AuthorizationCode: 60, DeviceCode: 600, RefreshToken: 86400, IdToken: 3600,
         Grant: 86400 * 30, Session: 86400, Interaction: 3600 },
  cookies: { keys: ['for-tests-only'] },
});

const say = (event, ctx, error) =>
  console.log(JSON.stringify({ event, grant: ctx?.oidc?.params?.grant_type, error: error?.error }));
provider.on('grant.success', (ctx) => say('granted', ctx));
provider.on('grant.error', (ctx, error) => say('refused', ctx, error));
provider.on('grant.revoked', (ctx) => say('revoked', ctx));
provider.on('server_error', (ctx, error) => console.error(error));
provider.listen(+process.env.PORT, '127.0.0.1');
