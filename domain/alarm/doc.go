// Package alarm watches what waits, tells people once, and keeps the numbers that the overview draws.
//
//	queues, lags, violations ──Watch──▶ alarms: OK ⇄ FIRING ──▶ history ──▶ deliveries (log, webhook, mail)
//	journal ──Rollup──▶ counters per minute and quarter of an hour
//
// An alarm fires when a value is above its limit and recovers after two looks in a row that found it below. Each firing makes one
// alert and each recovery of an alerted firing one "recovered", per channel: a delivery is a row with the alert's id, due until it
// is sent. Silencing holds an alert back, and it is sent when the silence ends and the alarm still fires; what was alerted is always
// followed by its "recovered". Times are the database's.
package alarm
