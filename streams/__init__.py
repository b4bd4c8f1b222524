"""The only package that knows Faust and Kafka: it carries, it does not decide."""
