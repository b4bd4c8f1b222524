"""History: what Forewatch saw and did, appended by the service and open to anybody's SQL at the same time."""
