"""The words that head the columns of bank exports in English, German, French and Spanish, by what they mean.

All are in the form that ``header.folded`` gives: lower case, no accents, no punctuation.
"""

from __future__ import annotations

from typing import Literal

Role = Literal[
    "booked", "date", "value", "payee", "payer", "text", "purpose", "booking", "amount", "debit", "credit", "side",
    "balance", "currency", "fee", "net", "original", "original_currency", "iban", "id", "end_to_end", "mandate",
    "creditor", "status", "account",
]  # fmt: skip
Language = Literal["en", "de", "fr", "es"]

WORDS: dict[Role, dict[Language, str]] = {
    "booked": {
        "en": "posting date|posted date|post date|date posted|booking date|booked date|booked on|completed date"
        "|date completed|settlement date|process date|processed date",
        "de": "buchungstag|buchungsdatum|buchung|datum der buchung|buchungszeitpunkt|abschlussdatum",
        "fr": "date de comptabilisation|date comptable|date operation|date d operation|date de l operation"
        "|date de operation",
        "es": "fecha contable|fecha operacion|fecha de operacion|f contable|f operacion|fecha de la operacion"
        "|fecha movimiento|fecha de contabilizacion",
    },
    "date": {
        "en": "transaction date|trans date|trans. date|date|started date|date started|transaction date time",
        "de": "datum|umsatzdatum|transaktionsdatum|belegdatum|kaufdatum",
        "fr": "date|date de la transaction|date de transaction|date achat|date de l achat",
        "es": "fecha|fecha de transaccion|fecha transaccion|fecha de compra",
    },
    "value": {
        "en": "value date|date value|effective date",
        "de": "wertstellung|wertstellungsdatum|valutadatum|valuta|wert",
        "fr": "date de valeur|date valeur|valeur",
        "es": "fecha valor|fecha de valor|f valor|valor",
    },
    "payee": {
        "en": "payee|counterparty|counterparty name|merchant|merchant name|beneficiary|name|partner name"
        "|other party|recipient|payee name|to from|transferred to",
        "de": "empfaenger auftraggeber|auftraggeber empfaenger|beguenstigter zahlungspflichtiger|zahlungsempfaenger"
        "|name zahlungsbeteiligter|zahlungsbeteiligter|empfaenger|beguenstigter|gegenpartei|partnername"
        "|name des partners|auftraggeber beguenstigter|zahlungsempfaenger zahlungspflichtiger|haendler|partner name",
        "fr": "beneficiaire|tiers|contrepartie|nom|nom du tiers|nom de la contrepartie|marchand|destinataire",
        "es": "beneficiario|contraparte|nombre|comercio|ordenante beneficiario|beneficiario ordenante|destinatario",
    },
    "payer": {
        "en": "payer|payer name|sender",
        "de": "zahlungspflichtige|zahlungspflichtiger|auftraggeber|auftraggeber in",
        "fr": "payeur|emetteur|donneur d ordre",
        "es": "ordenante|pagador",
    },
    "text": {
        "en": "description|transaction description|narrative|details|transaction details|particulars"
        "|original description|narration|remarks|transaction",
        "de": "beschreibung|buchungsdetails|umsatztext|text",
        "fr": "libelle|libelle operation|libelle de l operation|libelle simplifie|intitule|description|designation",
        "es": "concepto|descripcion|movimiento|detalle|concepto movimiento",
    },
    "purpose": {
        "en": "memo|purpose|note|notes|payment reference|remittance information|message|additional information"
        "|extended details|reference text",
        "de": "verwendungszweck|zweck|zahlungsreferenz|mitteilung|notiz|betreff|zahlungsgrund|verwendungszwecke",
        "fr": "communication|motif|informations complementaires|detail|libelle complet|commentaire|information",
        "es": "observaciones|mas datos|informacion adicional|comentarios|asunto",
    },
    "booking": {
        "en": "type|transaction type|category|payment type",
        "de": "buchungstext|umsatztyp|umsatzart|buchungsart|vorgang|transaktionstyp|typ|kategorie|geschaeftsvorfall",
        "fr": "type|type operation|type d operation|categorie|nature",
        "es": "tipo|tipo de movimiento|categoria|tipo movimiento",
    },
    "amount": {
        "en": "amount|transaction amount|value amount|gross|gross amount|amt",
        "de": "betrag|umsatz|brutto|buchungsbetrag",
        "fr": "montant|montant de l operation|montant operation|brut",
        "es": "importe|monto|cantidad|importe movimiento|bruto",
    },
    "debit": {
        "en": "debit|debits|debit amount|amount debit"
        "|money out|paid out|withdrawal|withdrawals|withdrawal amount|withdrawal amt"
        "|out|spent|withdrawals dr|debit dr|payments",
        "de": "soll|belastung|ausgang|lastschrift|auszahlung|ausgaben|belastungen|abgang|belastungsbetrag",
        "fr": "debit|debits|depense|sorties|montant debit|debit euros",
        "es": "cargo|cargos|debe|gasto|retiro|retiros|debito|debitos|salidas",
    },
    "credit": {
        "en": "credit|credits|credit amount|amount credit"
        "|money in|paid in|deposit|deposits|deposit amount|deposit amt|in"
        "|received|credit cr|deposits cr|receipts",
        "de": "haben|gutschrift|eingang|einzahlung|einnahmen|gutschriften|zugang|gutschriftsbetrag",
        "fr": "credit|credits|recette|entrees|montant credit|credit euros",
        "es": "abono|abonos|haber|ingreso|ingresos|deposito|depositos|credito|creditos|entradas",
    },
    "side": {
        "en": "debit credit|credit debit|dr cr|cr dr|d c|c d|debit credit indicator|credit debit indicator|sign"
        "|debit or credit|credit or debit|direction|dc",
        "de": "soll haben|s h|sh|haben soll|soll haben kennzeichen|vorzeichen|h s",
        "fr": "sens|debit credit|d c|sens operation",
        "es": "debe haber|signo|cargo abono|d h",
    },
    "balance": {
        "en": "balance|running balance|balance after|account balance|closing balance|available balance"
        "|balance amount|running bal",
        "de": "saldo|saldo nach buchung|kontostand|neuer saldo|guthaben",
        "fr": "solde|solde apres operation|solde du compte",
        "es": "saldo|saldo disponible|saldo final|saldo posterior|saldo contable",
    },
    "currency": {
        "en": "currency|currency code|ccy|account currency",
        "de": "waehrung|waehrungscode|kontowaehrung|whg",
        "fr": "devise|monnaie|code devise",
        "es": "divisa|moneda|codigo divisa",
    },
    "fee": {"en": "fee|fees|fee amount|charges", "de": "gebuehr|gebuehren|entgelt", "fr": "frais", "es": "comision"},
    "net": {"en": "net|net amount", "de": "netto", "fr": "net|avant commission", "es": "neto"},
    "original": {
        "en": "original amount|foreign amount|amount foreign currency|local amount|transaction amount foreign",
        "de": "originalbetrag|fremdwaehrungsbetrag|betrag fremdwaehrung|ursprungsbetrag|betrag in fremdwaehrung",
        "fr": "montant d origine|montant devise|montant en devise|montant original",
        "es": "importe original|importe divisa|importe en divisa",
    },
    "original_currency": {
        "en": "original currency|foreign currency|type foreign currency|local currency|transaction currency",
        "de": "originalwaehrung|fremdwaehrung|ursprungswaehrung",
        "fr": "devise d origine|devise originale",
        "es": "divisa original|moneda original",
    },
    "iban": {
        "en": "counterparty iban|payee iban|iban|account number counterparty|partner iban|payee account number",
        "de": "kontonummer iban|iban zahlungsbeteiligter|iban des partners|iban des auftraggebers|gegenkonto"
        "|empfaenger iban|iban kontonummer|konto iban|iban gegenkonto",
        "fr": "iban contrepartie|iban du tiers|iban beneficiaire|compte contrepartie",
        "es": "iban contraparte|iban beneficiario|cuenta beneficiario",
    },
    "id": {
        "en": "transaction id|id|reference|ref|reference number|transaction reference|fitid|bank reference|ref no"
        "|transaction number|entry reference|transaction code id",
        "de": "transaktionsnummer|buchungsreferenz|referenz|referenznummer|transaktions id|umsatz id|vorgangsnummer"
        "|bankreferenz|transaktionscode",
        "fr": "reference|reference operation|numero operation|numero de transaction|id transaction|identifiant",
        "es": "referencia|numero de operacion|id transaccion|num operacion|numero movimiento|identificador",
    },
    "end_to_end": {
        "en": "end to end id|end to end reference|customer reference|endtoendid|end to end",
        "de": "kundenreferenz|ende zu ende referenz|end to end referenz|kundenreferenz end to end",
        "fr": "reference de bout en bout|reference client",
        "es": "referencia de extremo a extremo|referencia cliente",
    },
    "mandate": {
        "en": "mandate|mandate id|mandate reference",
        "de": "mandatsreferenz|mandat",
        "fr": "reference du mandat|mandat|rum",
        "es": "referencia mandato|mandato|referencia del mandato",
    },
    "creditor": {
        "en": "creditor id|creditor identifier",
        "de": "glaeubiger id|glaeubiger identifikationsnummer|glaeubigeridentifikation",
        "fr": "ics|identifiant creancier",
        "es": "identificador acreedor|id acreedor",
    },
    "status": {
        "en": "status|state|transaction status|posting status|pending",
        "de": "status|info|buchungsstatus|umsatzstatus",
        "fr": "statut|etat",
        "es": "estado|situacion",
    },
    "account": {
        "en": "account|account number|account id|own account|account name|account iban|product",
        "de": "auftragskonto|konto|kontonummer|iban auftragskonto|eigenes konto|bezeichnung auftragskonto",
        "fr": "compte|numero de compte|numero compte|compte numero",
        "es": "cuenta|numero de cuenta|cuenta cliente|n cuenta",
    },
}
"""Earlier words of a list are preferred where several columns have the role."""
