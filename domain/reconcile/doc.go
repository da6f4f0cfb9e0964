// Package reconcile asks the outside again about payments, refunds and parcels whose outcome isn't known: one, some or all of
// them, for an operator, an API client or the schedule. It has no way of its own to the outside and decides nothing: it makes the
// operations that look (domain/operation's executor) due at once, and writes down what each of them learned.
//
//	Start ─▶ run + items, operations due ─▶ (the executor looks) ─▶ Record ─▶ CHANGED      it is known now
//	                                                                     ├──▶ UNCHANGED    asked; not known there either
//	                                                                     ├──▶ UNREACHABLE  the outside couldn't be asked
//	                                                                     └──▶ SKIPPED      nothing was open any more
//
// What the database decides: the run's ID is that of the intent that asked for it, so pressing twice is one run; an item's
// operation must have a later attempt than when it was asked for, so an old answer is never taken for a new one.
package reconcile
