package web

import (
	"onefold/components/path"
	"onefold/domain/alarm"
)

// AlarmList is the address of the list that shows what an alarm counts: a queue's own, or where its rows are.
func AlarmList(name string) string {
	switch name {
	case alarm.Violations:
		return path.Console() + "#proof"
	case alarm.OutboxLag:
		return path.WithQuery(path.ConsoleOutbox(), "state", "WAITING")
	case alarm.InboxLag:
		return path.WithQuery(path.ConsoleInbox(), "state", "RECEIVED")
	}
	return queueList(name)
}

// queueList is the list that shows exactly what a queue counts.
func queueList(name string) string {
	return path.ConsoleWork(name)
}
