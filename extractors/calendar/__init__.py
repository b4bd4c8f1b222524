"""iCalendar for every calendar connector: bytes to entries, entries to occurrences, occurrences to events.

All of it is pure; files and servers are the connectors' business. The order of the work is the order of the modules:
lines, component, moment and zones, rule and recurrence, entry, reading, series, occurrence, event; ledger compares
two polls.

Dates repeat here, and not through recurring-ical-events, because a service that acts on a calendar needs four things
which that library did not give when it was tried (3.8.2): zones that belong to one file (icalendar keeps the first
"Customized Time Zone" it meets for the whole process), EXDATE and RECURRENCE-ID compared as instants only (it also
compares wall clocks, so one EXDATE took three hours out of an hourly series), Z times that X-WR-TIMEZONE does not
move, and work that has a bound (one hostile rule took eight seconds).
"""
