package i18n

import (
	"context"
	"slices"
	"strings"
)

// journalWords are the sentences of the timeline, and all else that the intent page says.
var journalWords = slices.Concat(sentenceWords, intentWords) //nolint:gochecknoglobals // constant

// sentenceWords are sentences for journal kinds: "journal.<kind>".
//
//nolint:gochecknoglobals // constant
var sentenceWords = []word{
	{"journal.operation.completed", "Operation completed", "Операция завершена"},
	{"journal.operation.failed", "Operation ended without a result", "Операция завершилась без результата"},
	{"journal.operation.replayed", "Repeat absorbed: the stored result was returned", "Повтор поглощён: возвращён сохранённый результат"},
	{"journal.operation.key_reused", "Refused: same key, other content", "Отказ: тот же ключ, другое содержание"},
	{"journal.operation.in_progress", "Repeat while the first still runs", "Повтор, пока первая попытка ещё выполняется"},
	{"journal.operation.late_owner", "A late worker lost its lease and changed nothing", "Опоздавший исполнитель потерял аренду и ничего не изменил"},
	{"journal.operation.already_settled", "An event was faster than the answer: nothing to do", "Событие опередило ответ: делать нечего"},
	{"journal.operation.postponed", "Asked, and not known yet", "Запрошено, ответа пока нет"},
	{"journal.order.awaiting_payment", "Order placed", "Заказ оформлен"},
	{"journal.order.paid", "Order paid", "Заказ оплачен"},
	{"journal.order.fulfilled", "Order fulfilled", "Заказ выполнен"},
	{"journal.order.canceled", "Order cancelled", "Заказ отменён"},
	{"journal.order.expired", "Order expired", "Срок заказа истёк"},
	{"journal.order.flagged", "Order flagged for review", "Заказ отмечен для проверки"},
	{"journal.order.partially_refunded", "Part of the money went back", "Часть денег возвращена"},
	{"journal.order.refunded", "All of the money went back", "Деньги возвращены полностью"},
	{"journal.payment.created", "Payment attempt created", "Создана попытка оплаты"},
	{"journal.payment.submitting", "Payment sent to the provider", "Платёж отправлен провайдеру"},
	{"journal.payment.pending", "Provider made the payment page", "Провайдер создал страницу оплаты"},
	{"journal.payment.unknown", "The provider’s answer is not known", "Ответ провайдера неизвестен"},
	{"journal.payment.succeeded", "Payment succeeded", "Платёж успешен"},
	{"journal.payment.canceled", "Payment cancelled", "Платёж отменён"},
	{"journal.payment.failed", "Payment failed", "Платёж не прошёл"},
	{"journal.payment.partially_refunded", "Payment partly refunded", "Платёж частично возвращён"},
	{"journal.payment.refunded", "Payment refunded", "Платёж возвращён"},
	{"journal.payment.id_corrected", "Provider’s payment ID corrected: nothing was there under the old one", "Исправлен номер платежа у провайдера: под прежним ничего нет"},
	{"journal.payment.evidence", "Provider asked for a decision of two people", "Провайдер запрошен по решению двух человек"},
	{"journal.refund.created", "Refund decided", "Возврат назначен"},
	{"journal.refund.submitting", "Refund sent to the provider", "Возврат отправлен провайдеру"},
	{"journal.refund.unknown", "The provider’s answer about the refund is not known", "Ответ провайдера о возврате неизвестен"},
	{"journal.refund.succeeded", "Refund succeeded", "Возврат выполнен"},
	{"journal.refund.failed", "Refund failed", "Возврат не прошёл"},
	{"journal.shipment.created", "Parcel planned", "Посылка запланирована"},
	{"journal.shipment.submitting", "Label asked of the carrier", "Этикетка запрошена у перевозчика"},
	{"journal.shipment.unknown", "The carrier’s answer is not known", "Ответ перевозчика неизвестен"},
	{"journal.shipment.succeeded", "The carrier made the label", "Перевозчик создал этикетку"},
	{"journal.shipment.failed", "The parcel has no label", "Этикетки для посылки нет"},
	{"journal.shipment.delivered", "Parcel delivered", "Посылка доставлена"},
	{"journal.license.revoked", "Licences revoked", "Лицензии отозваны"},
	{"journal.bonus.reversed", "Bonus points taken back", "Бонусы списаны обратно"},
	{"journal.effect.skipped", "Nothing to do: the money had gone back", "Делать нечего: деньги уже возвращены"},
	{"journal.inbox.received", "Event received and stored", "Событие получено и сохранено"},
	{"journal.inbox.repeated", "Same event delivered again", "То же событие доставлено повторно"},
	{"journal.inbox.applied", "Event applied", "Событие применено"},
	{"journal.inbox.no_change", "Event brought nothing new", "Событие не принесло нового"},
	{"journal.inbox.stale", "Event came late, nothing changed", "Событие опоздало, ничего не изменилось"},
	{"journal.inbox.ignored", "Event is not for us", "Событие не для нас"},
	{"journal.inbox.quarantined", "Event contradicts what we know, kept aside", "Событие противоречит известному, отложено"},
	{"journal.outbox.appended", "Fact written down for the relay", "Факт записан для relay"},
	{"journal.outbox.dispatched", "Relay planned the consequences", "Relay запланировал последствия"},
	{"journal.outbox.parked", "Relay gave up, a person is needed", "Relay отказался, нужен человек"},
	{"journal.license.issued", "Licence issued", "Лицензия выдана"},
	{"journal.bonus.accrued", "Bonus points added", "Бонусы начислены"},
	{"journal.mail.sent", "Mail sent", "Письмо отправлено"},
	{"journal.mail.refused", "Mail refused", "Письмо отклонено"},
}

// Journal is the sentence for a journal kind, or the kind itself in readable form.
func Journal(ctx context.Context, kind string) string {
	for _, key := range []string{"journal." + kind, kind} { // a press's kind is its key
		if Has(key) {
			return T(ctx, key)
		}
	}
	return strings.NewReplacer(".", ": ", "_", " ").Replace(kind)
}
