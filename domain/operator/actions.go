package operator

import "onefold/domain/account"

// The actions. A new one is a row here, its words in components/i18n and, if its form asks for more than a reason, a field of Input.
const (
	Reconcile      Name = "reconcile"       // look at the outside now
	Recover        Name = "recover"         // make a stuck operation due now
	SettleFailure  Name = "settle_failure"  // take a failed operation out of the queue
	Reprocess      Name = "reprocess"       // apply an event again
	SettleEvent    Name = "settle_event"    // take a quarantined event out of the queue
	Redispatch     Name = "redispatch"      // let a parked outbox event have its consequences
	SettleOutbox   Name = "settle_outbox"   // skip a parked outbox event
	RetryJob       Name = "retry_job"       // River runs a job again
	CancelJob      Name = "cancel_job"      // River gives a job up; its row is due again anyway
	ResendMail     Name = "resend_mail"     // the receipt once more, as a mail of its own
	Refund         Name = "refund"          // send money back
	CancelOrder    Name = "cancel_order"    // close an unpaid order
	CorrectAddress Name = "correct_address" // another address for parcels that the carrier refused
	SettleReview   Name = "settle_review"   // an order's question is answered
	SettleOrphan   Name = "settle_orphan"   // a charge without an order has been dealt with
	SettlePayment  Name = "settle_payment"  // propose how an unknown payment ended; the provider is asked first
	Approve        Name = "approve"         // a second person says yes
	Reject         Name = "reject"          // or no
	JudgeDuplicate Name = "judge_duplicate" // two orders alike: technical retry, or on purpose
	AddNote        Name = "note"
	Assign         Name = "assign"
	SetTicket      Name = "ticket"
	SetTags        Name = "tag"
	Snooze         Name = "snooze"
	Reveal         Name = "reveal"      // show this person what the pages mask
	Acknowledge    Name = "acknowledge" // somebody looks after an alarm
	Silence        Name = "silence"     // nobody is told of an alarm for a while
)

func actions() map[Name]action {
	return map[Name]action{
		Reconcile:      {object: "payment", role: account.Support, bulk: true, judge: judgeReconcile, do: doReconcile},
		Recover:        {object: "operation", role: account.Operator, bulk: true, table: "operations", judge: judgeRecover, do: doRecover},
		SettleFailure:  {object: "operation", role: account.Operator, reason: true, bulk: true, table: "operations", judge: judgeSettleFailure, do: settleRow("operations")},
		Reprocess:      {object: "event", role: account.Operator, bulk: true, table: "incoming_events", judge: judgeReprocess, do: doReprocess},
		SettleEvent:    {object: "event", role: account.Operator, reason: true, bulk: true, table: "incoming_events", judge: judgeSettleEvent, do: settleRow("incoming_events")},
		Redispatch:     {object: "outbox", role: account.Operator, bulk: true, table: "outbox_events", judge: judgeRedispatch, do: doRedispatch},
		SettleOutbox:   {object: "outbox", role: account.Approver, reason: true, bulk: true, table: "outbox_events", judge: judgeSettleOutbox, do: settleRow("outbox_events")},
		RetryJob:       {object: "job", role: account.Operator, judge: judgeRetryJob, do: doRetryJob},
		CancelJob:      {object: "job", role: account.Operator, reason: true, judge: judgeCancelJob, do: doCancelJob},
		ResendMail:     {object: "order", role: account.Support, reason: true, table: "orders", judge: judgeResendMail, do: doResendMail},
		Refund:         {object: "order", role: account.Operator, reason: true, judge: judgeRefund, do: doRefund},
		CancelOrder:    {object: "order", role: account.Operator, reason: true, judge: judgeCancelOrder}, // see cancel.go: it waits for the provider
		CorrectAddress: {object: "order", role: account.Operator, reason: true, judge: judgeCorrectAddress, do: doCorrectAddress},
		SettleReview:   {object: "order", role: account.Operator, reason: true, bulk: true, table: "orders", judge: judgeSettleReview, do: doSettleReview},
		SettleOrphan:   {object: "payment", role: account.Operator, reason: true, table: "payments", judge: judgeSettleOrphan, do: settleRow("payments")},
		SettlePayment:  {object: "payment", role: account.Operator, reason: true, judge: judgeSettlePayment, do: doSettlePayment},
		Approve:        {object: "approval", role: account.Approver, table: "approvals", judge: judgeApproval, do: doApprove},
		Reject:         {object: "approval", role: account.Approver, reason: true, table: "approvals", judge: judgeApproval, do: doReject},
		JudgeDuplicate: {object: "duplicate", role: account.Support, reason: true, judge: judgeDuplicate, do: doJudgeDuplicate},
		AddNote:        {object: "case", role: account.Support, reason: true, judge: judgeCase, do: doNote},
		Assign:         {object: "case", role: account.Support, bulk: true, judge: judgeAssign, check: checkAssignee, do: doAssign},
		SetTicket:      {object: "case", role: account.Support, judge: judgeCase, do: doTicket},
		SetTags:        {object: "case", role: account.Support, judge: judgeCase, do: doTags},
		Reveal:         {object: "intent", role: account.Support, reason: true, judge: judgeReveal, do: doReveal},
		Acknowledge:    {object: "alarm", role: account.Operator, reason: true, judge: judgeAcknowledge, do: doAcknowledge},
		Silence:        {object: "alarm", role: account.Operator, reason: true, judge: judgeSilence, do: doSilence},
		Snooze:         {object: "case", role: account.Support, reason: true, bulk: true, judge: judgeSnooze, check: checkUntil, do: doSnooze},
	}
}
