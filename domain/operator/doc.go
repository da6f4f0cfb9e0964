// Package operator is what people may do from the console. Operators are clients, too (DESIGN rule 13): every press of a button
// is a local operation whose key the server made with the form, so N presses are one action; and every press, done, absorbed or
// refused, is a line of the audit log.
//
//	Press ─▶ role? ─▶ reason? ─▶ claim the key ─▶ lock, judge ─▶ SAFE: do it, write the audit, all in one transaction
//	                                                        ├──▶ WAIT    409: somebody is at it, or it isn't known yet
//	                                                        └──▶ UNSAFE  409: it would do nothing, or harm
//
// One table (actions.go) says of each action what it acts on, who may, and how it is judged: the same SQL gives the verdict that the
// page shows and the one that the server enforces. An action makes rows due, settles what was given up, or writes a wish that the
// executor carries out; none calls the outside.
//
// What the database decides: operations_identity and audit_done_once (one action per form, for ever), four_eyes (nobody approves
// what he asked for), the guards of the rows themselves, and a trigger that keeps the audit append only.
package operator
