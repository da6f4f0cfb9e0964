package jobs

import (
	"context"
	"log/slog"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"onefold/domain/checkout"
	"onefold/domain/fulfilment"
	"onefold/domain/journal"
	"onefold/domain/operation"
	"onefold/domain/payment"
	"onefold/domain/refund"
	"onefold/domain/trace"
)

// Queues are separate so that a slow provider can't hold up licences.
const (
	queuePayments   = "payments"
	queueWebhooks   = "webhooks"
	queueFulfilment = "fulfilment"
	queueDelivery   = "delivery"
	queueNotify     = "notify"
	queueConsole    = "console"
)

// Operation points at the row that the job carries on. IDs only: a job's arguments are shown to operators.
type Operation struct {
	OperationID uuid.UUID `json:"operation_id"`
}

func (o Operation) operationID() uuid.UUID { return o.OperationID }

type operationJob interface {
	river.JobArgs
	operationID() uuid.UUID
}

// CreatePaymentJob asks the provider for a payment.
type CreatePaymentJob struct{ Operation }

// Kind is River's name of the job.
func (CreatePaymentJob) Kind() string { return "create_payment" }

// IssueLicensesJob gives a paid order its licences.
type IssueLicensesJob struct{ Operation }

// Kind is River's name of the job.
func (IssueLicensesJob) Kind() string { return "issue_licenses" }

// AccrueBonusJob gives a paid order its bonus points.
type AccrueBonusJob struct{ Operation }

// Kind is River's name of the job.
func (AccrueBonusJob) Kind() string { return "accrue_bonus" }

// ShipParcelJob buys a parcel's label.
type ShipParcelJob struct{ Operation }

// Kind is River's name of the job.
func (ShipParcelJob) Kind() string { return "ship_parcel" }

// SendNotificationJob mails the receipt.
type SendNotificationJob struct{ Operation }

// Kind is River's name of the job.
func (SendNotificationJob) Kind() string { return "send_notification" }

// WatchPaymentJob looks at a pending payment.
type WatchPaymentJob struct{ Operation }

// Kind is River's name of the job.
func (WatchPaymentJob) Kind() string { return "watch_payment" }

// CancelOrderJob closes an order for a shopper.
type CancelOrderJob struct{ Operation }

// Kind is River's name of the job.
func (CancelOrderJob) Kind() string { return "cancel_order" }

// ExpireOrderJob closes an order that waited too long.
type ExpireOrderJob struct{ Operation }

// Kind is River's name of the job.
func (ExpireOrderJob) Kind() string { return "expire_order" }

// CreateRefundJob sends money back that an operator decided on.
type CreateRefundJob struct{ Operation }

// Kind is River's name of the job.
func (CreateRefundJob) Kind() string { return "create_refund" }

// RefundOrphanJob sends money back that its order couldn't take.
type RefundOrphanJob struct{ Operation }

// Kind is River's name of the job.
func (RefundOrphanJob) Kind() string { return "refund_orphan" }

// SettlePaymentJob asks about an unknown payment of which people say how it ended.
type SettlePaymentJob struct{ Operation }

// Kind is River's name of the job.
func (SettlePaymentJob) Kind() string { return "settle_payment" }

// ReverseEffectsJob takes back what a refunded order was given.
type ReverseEffectsJob struct{ Operation }

// Kind is River's name of the job.
func (ReverseEffectsJob) Kind() string { return "reverse_effects" }

// operationJobs says which job carries on which type of operation, and in which queue.
var operationJobs = map[operation.Type]struct { //nolint:gochecknoglobals // a table
	queue string
	args  func(Operation) river.JobArgs
}{
	payment.CreatePayment:       {queuePayments, func(o Operation) river.JobArgs { return CreatePaymentJob{o} }},
	payment.WatchPayment:        {queuePayments, func(o Operation) river.JobArgs { return WatchPaymentJob{o} }},
	checkout.CancelOrder:        {queuePayments, func(o Operation) river.JobArgs { return CancelOrderJob{o} }},
	checkout.ExpireOrder:        {queuePayments, func(o Operation) river.JobArgs { return ExpireOrderJob{o} }},
	refund.CreateRefund:         {queuePayments, func(o Operation) river.JobArgs { return CreateRefundJob{o} }},
	payment.RefundOrphan:        {queuePayments, func(o Operation) river.JobArgs { return RefundOrphanJob{o} }},
	fulfilment.ReverseEffects:   {queueFulfilment, func(o Operation) river.JobArgs { return ReverseEffectsJob{o} }},
	fulfilment.IssueLicenses:    {queueFulfilment, func(o Operation) river.JobArgs { return IssueLicensesJob{o} }},
	fulfilment.AccrueBonus:      {queueFulfilment, func(o Operation) river.JobArgs { return AccrueBonusJob{o} }},
	fulfilment.ShipParcel:       {queueDelivery, func(o Operation) river.JobArgs { return ShipParcelJob{o} }},
	fulfilment.SendNotification: {queueNotify, func(o Operation) river.JobArgs { return SendNotificationJob{o} }},
	// The same work; only what it is called in the operation differs.
	fulfilment.ResendNotification: {queueNotify, func(o Operation) river.JobArgs { return SendNotificationJob{o} }},
	payment.SettlePayment:         {queuePayments, func(o Operation) river.JobArgs { return SettlePaymentJob{o} }},
}

type operationWorker[T operationJob] struct {
	river.WorkerDefaults[T]
	jobs *Jobs
}

// Work carries the operation on by one try. River's own retry only bridges a failing database.
func (w *operationWorker[T]) Work(ctx context.Context, job *river.Job[T]) error {
	id := job.Args.operationID()
	ctx = w.jobs.context(ctx, job.ID, job.Metadata, slog.String("operation_id", id.String()))
	return w.jobs.logged(ctx, job.Kind, job.Attempt, func() error { return w.jobs.execute(ctx, id) })
}

func (j *Jobs) context(ctx context.Context, jobID int64, metadata []byte, ids ...slog.Attr) context.Context {
	ctx = trace.Gather(trace.Resume(journal.WithJob(ctx, jobID), traceOf(metadata)))
	return trace.With(ctx, append(ids, slog.Int64("job_id", jobID))...)
}
