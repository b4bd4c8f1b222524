"""The log on Apache Kafka, through aiokafka."""
