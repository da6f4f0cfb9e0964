package i18n

import (
	"context"
	"strings"
)

// journalWords are sentences for journal kinds: "journal.<kind>".
//
//nolint:gochecknoglobals // constant
var journalWords = []word{
	{"journal.operation.claimed", "Key claimed: this attempt does the work", "Ключ занят: работу делает эта попытка"},
	{"journal.operation.replayed", "Repeat absorbed: the stored result was returned", "Повтор поглощён: возвращён сохранённый результат"},
	{"journal.operation.conflict", "Refused: same key, other content", "Отказ: тот же ключ, другое содержание"},
	{"journal.operation.key_reused", "Refused: same key, other content", "Отказ: тот же ключ, другое содержание"},
	{"journal.operation.waited", "Repeat waited for the first to finish", "Повтор дождался завершения первой попытки"},
	{"journal.operation.in_progress", "Repeat while the first still runs", "Повтор, пока первая попытка ещё выполняется"},
	{"journal.operation.planned", "Operation planned", "Операция запланирована"},
	{"journal.operation.leased", "Lease taken", "Аренда взята"},
	{"journal.operation.lease_lost", "Lease lost: a late worker changed nothing", "Аренда потеряна: опоздавший ничего не изменил"},
	{"journal.operation.completed", "Operation completed", "Операция завершена"},
	{"journal.operation.failed", "Operation failed", "Операция не выполнена"},
	{"journal.operation.unknown", "No final answer yet, next look scheduled", "Окончательного ответа нет, проверка запланирована"},
	{"journal.order.placed", "Order placed", "Заказ оформлен"},
	{"journal.order.created", "Order placed", "Заказ оформлен"},
	{"journal.order.paid", "Order paid", "Заказ оплачен"},
	{"journal.order.fulfilled", "Order fulfilled", "Заказ выполнен"},
	{"journal.order.canceled", "Order cancelled", "Заказ отменён"},
	{"journal.order.expired", "Order expired", "Срок заказа истёк"},
	{"journal.order.needs_review", "Order flagged for review", "Заказ отмечен для проверки"},
	{"journal.payment.created", "Payment attempt created", "Создана попытка оплаты"},
	{"journal.payment.submitting", "Payment sent to the provider", "Платёж отправлен провайдеру"},
	{"journal.payment.pending", "Provider made the payment page", "Провайдер создал страницу оплаты"},
	{"journal.payment.unknown", "The provider’s answer is not known", "Ответ провайдера неизвестен"},
	{"journal.payment.succeeded", "Payment succeeded", "Платёж успешен"},
	{"journal.payment.canceled", "Payment cancelled", "Платёж отменён"},
	{"journal.payment.failed", "Payment failed", "Платёж не прошёл"},
	{"journal.payment.no_change", "Same state reported again, nothing to do", "Сообщено то же состояние, делать нечего"},
	{"journal.payment.stale", "Older state reported, nothing changed", "Сообщено более старое состояние, ничего не изменилось"},
	{"journal.payment.lookup", "Provider asked for the payment’s state", "Состояние платежа запрошено у провайдера"},
	{"journal.inbox.received", "Event received and stored", "Событие получено и сохранено"},
	{"journal.inbox.duplicate", "Same event delivered again", "То же событие доставлено повторно"},
	{"journal.inbox.redelivered", "Same event delivered again", "То же событие доставлено повторно"},
	{"journal.inbox.applied", "Event applied", "Событие применено"},
	{"journal.inbox.no_change", "Event brought nothing new", "Событие не принесло нового"},
	{"journal.inbox.stale", "Event came late, nothing changed", "Событие опоздало, ничего не изменилось"},
	{"journal.inbox.ignored", "Event is not for us", "Событие не для нас"},
	{"journal.inbox.quarantined", "Event contradicts what we know, kept aside", "Событие противоречит известному, отложено"},
	{"journal.outbox.appended", "Consequence recorded", "Последствие записано"},
	{"journal.outbox.dispatched", "Consequences handed to jobs", "Последствия переданы заданиям"},
	{"journal.outbox.parked", "Gave up, waits for a person", "Остановлено, ждёт человека"},
	{"journal.license.issued", "Licence issued", "Лицензия выдана"},
	{"journal.bonus.accrued", "Bonus points added", "Бонусы начислены"},
	{"journal.notification.sent", "Mail sent", "Письмо отправлено"},
	{"journal.shipment.created", "Shipment created", "Отправка создана"},
	{"journal.refund.created", "Refund created", "Возврат создан"},
	{"journal.refund.succeeded", "Refund succeeded", "Возврат выполнен"},
}

// Journal is the sentence for a journal kind, or the kind itself in readable form.
func Journal(ctx context.Context, kind string) string {
	if key := "journal." + kind; Has(key) {
		return T(ctx, key)
	}
	return strings.NewReplacer(".", ": ", "_", " ").Replace(kind)
}
