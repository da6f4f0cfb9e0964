package i18n

import "context"

// statusWords is the one glossary of states: "status.<entity>.<STATE>".
//
//nolint:gochecknoglobals // constant
var statusWords = []word{
	{"status.operation.PROCESSING", "In progress", "Выполняется"},
	{"status.operation.COMPLETED", "Completed", "Завершена"},
	{"status.operation.FAILED", "Failed", "Не выполнена"},
	{"status.operation.STUCK", "Stuck", "Застряли"},
	{"status.operation.EFFECT_FAILED", "Effect failed", "Не выполнено действие"},
	{"status.operation.IN_REVIEW", "Order in review", "Заказ на проверке"},
	{"status.order.IN_REVIEW", "In review", "На проверке"},
	{"status.order.AWAITING_PAYMENT", "Awaiting payment", "Ожидает оплаты"},
	{"status.order.PAID", "Paid", "Оплачен"},
	{"status.order.FULFILLED", "Fulfilled", "Выполнен"},
	{"status.order.CANCELED", "Cancelled", "Отменён"},
	{"status.order.EXPIRED", "Expired", "Истёк"},
	{"status.order.PARTIALLY_REFUNDED", "Partly refunded", "Частичный возврат"},
	{"status.order.REFUNDED", "Refunded", "Возвращён"},
	{"status.order.NEEDS_REVIEW", "Needs review", "Нужна проверка"},
	{"status.payment.CREATED", "Created", "Создан"},
	{"status.payment.SUBMITTING", "Submitting", "Отправляется"},
	{"status.payment.PENDING", "Pending", "Ожидает"},
	{"status.payment.UNKNOWN", "Not known yet", "Исход неизвестен"},
	{"status.payment.SUCCEEDED", "Succeeded", "Успешен"},
	{"status.payment.CANCELED", "Cancelled", "Отменён"},
	{"status.payment.FAILED", "Failed", "Не прошёл"},
	{"status.payment.PARTIALLY_REFUNDED", "Partly refunded", "Частичный возврат"},
	{"status.payment.REFUNDED", "Refunded", "Возвращён"},
	{"status.refund.CREATED", "Created", "Создан"},
	{"status.refund.SUBMITTING", "Submitting", "Отправляется"},
	{"status.refund.UNKNOWN", "Not known yet", "Исход неизвестен"},
	{"status.refund.SUCCEEDED", "Succeeded", "Успешен"},
	{"status.refund.FAILED", "Failed", "Не прошёл"},
	{"status.shipment.CREATED", "Created", "Создана"},
	{"status.shipment.SUBMITTING", "Submitting", "Отправляется"},
	{"status.shipment.UNKNOWN", "Not known yet", "Исход неизвестен"},
	{"status.shipment.SUCCEEDED", "Accepted", "Принята"},
	{"status.shipment.FAILED", "Failed", "Не принята"},
	{"status.inbox.RECEIVED", "Received", "Получено"},
	{"status.inbox.APPLIED", "Applied", "Применено"},
	{"status.inbox.NO_CHANGE", "No change", "Без изменений"},
	{"status.inbox.STALE", "Stale", "Устарело"},
	{"status.inbox.IGNORED", "Ignored", "Пропущено"},
	{"status.inbox.QUARANTINED", "Quarantined", "В карантине"},
	{"status.outbox.WAITING", "Waiting", "Ждёт"},
	{"status.outbox.DISPATCHED", "Dispatched", "Отправлено"},
	{"status.outbox.PARKED", "Parked", "Отложено"},
	{"status.effect.DONE", "Done", "Готово"},
	{"status.effect.WAITING", "Waiting", "Ждёт"},
}

// Status is the word for a state of an operation, order, payment, refund, shipment, inbox, outbox or effect.
// A state the glossary does not know is shown as its code.
func Status(ctx context.Context, entity, state string) string {
	key := "status." + entity + "." + state
	if !Has(key) {
		return state
	}
	return T(ctx, key)
}
