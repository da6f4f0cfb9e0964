package i18n

//nolint:gochecknoglobals // constant
var shopWords = []word{
	{"catalogue.title", "Good things, ordered once", "Хорошие вещи. Ровно один заказ"},
	{"catalogue.lead", "Tools and things you will keep. Press twice, reload or lose the connection: you still get one order and one charge.", "Инструменты и вещи, с которыми не расстаются. Нажмите дважды, обновите страницу, потеряйте связь – всё равно будет один заказ и одно списание."},
	{"catalogue.page", "Shop", "Магазин"},
	{"catalogue.products", "Products", "Товары"},
	{"catalogue.empty", "Nothing is on sale right now", "Сейчас ничего не продаётся"},
	{"catalogue.empty_text", "New things arrive soon. Orders you have placed are not affected.", "Скоро появятся новые товары. На ваши заказы это не влияет."},
	{"product.add", "Add to basket", "В корзину"},
	{"product.add_what", "Add to basket: %s", "В корзину: %s"},
	{"product.quantity", "Quantity", "Количество"},
	{"product.license", "Licence key by e-mail and on the order page", "Лицензионный ключ – письмом и на странице заказа"},
	{"product.physical", "Delivered to your address", "Доставка по вашему адресу"},
	{"product.once", "One order and one charge, however often you press", "Один заказ и одно списание, сколько бы раз вы ни нажали"},
	{"product.kind.license", "Licence", "Лицензия"},
	{"product.kind.physical", "Delivered", "С доставкой"},
	{"product.tax", "Tax included", "Налог включён"},
	{"product.back", "All products", "Все товары"},
	{"stock.in", "In stock", "В наличии"},
	{"stock.out", "Sold out", "Нет в наличии"},
	{"notice.added", "Added to the basket: %s", "В корзине: %s"},
	{"notice.removed", "Removed from the basket: %s", "Удалено из корзины: %s"},
	{"notice.updated", "The basket is updated", "Корзина обновлена"},
	{"notice.saved", "Saved", "Сохранено"},
	{"notice.basket", "Go to basket", "Перейти в корзину"},
	{"cart.title", "Basket", "Корзина"},
	{"cart.empty", "Your basket is empty", "Корзина пуста"},
	{"cart.empty_text", "Everything you add waits here, on every tab, until you order it.", "Всё, что вы добавите, будет ждать здесь на всех вкладках, пока вы не оформите заказ."},
	{"cart.to_shop", "Look around the shop", "Перейти в магазин"},
	{"cart.each", "%s each", "%s за шт."},
	{"cart.update", "Update", "Обновить"},
	{"cart.remove", "Remove", "Удалить"},
	{"cart.remove_what", "Remove %s", "Удалить: %s"},
	{"cart.quantity_of", "Quantity of %s", "Количество: %s"},
	{"cart.summary", "Summary", "Итог"},
	{"cart.subtotal", "Subtotal", "Товары"},
	{"cart.discount", "Discount", "Скидка"},
	{"cart.delivery", "Delivery", "Доставка"},
	{"cart.delivery_free", "Free", "Бесплатно"},
	{"cart.total", "Total", "Итого"},
	{"cart.checkout", "Go to checkout", "Оформить заказ"},
	{"cart.continue", "Continue shopping", "Продолжить покупки"},
}

//nolint:gochecknoglobals // constant
var counts = []count{
	{
		"basket.items",
		forms{one: "%d item", other: "%d items"},
		forms{one: "%d товар", few: "%d товара", many: "%d товаров", other: "%d товара"},
	},
	{
		"stock.left",
		forms{one: "Only %d left", other: "Only %d left"},
		forms{one: "Остался %d", few: "Осталось %d", many: "Осталось %d", other: "Осталось %d"},
	},
	{
		"error.count",
		forms{one: "%d field needs your attention", other: "%d fields need your attention"},
		forms{one: "Проверьте %d поле", few: "Проверьте %d поля", many: "Проверьте %d полей", other: "Проверьте %d поля"},
	},
	{
		"count.attempts",
		forms{one: "%d attempt", other: "%d attempts"},
		forms{one: "%d попытка", few: "%d попытки", many: "%d попыток", other: "%d попытки"},
	},
	{
		"count.orders",
		forms{one: "%d order", other: "%d orders"},
		forms{one: "%d заказ", few: "%d заказа", many: "%d заказов", other: "%d заказа"},
	},
	{
		"count.charges",
		forms{one: "%d charge", other: "%d charges"},
		forms{one: "%d списание", few: "%d списания", many: "%d списаний", other: "%d списания"},
	},
	{
		"count.effects",
		forms{one: "%d effect", other: "%d effects"},
		forms{one: "%d действие", few: "%d действия", many: "%d действий", other: "%d действия"},
	},
	{
		"count.absorbed",
		forms{one: "%d repeat absorbed", other: "%d repeats absorbed"},
		forms{one: "%d повтор поглощён", few: "%d повтора поглощены", many: "%d повторов поглощено", other: "%d повтора поглощены"},
	},
	{
		"count.times",
		forms{one: "%d time", other: "%d times"},
		forms{one: "%d раз", few: "%d раза", many: "%d раз", other: "%d раза"},
	},
	{
		"count.more",
		forms{one: "and %d more", other: "and %d more"},
		forms{one: "и ещё %d", few: "и ещё %d", many: "и ещё %d", other: "и ещё %d"},
	},
	{
		"count.operations",
		forms{one: "%d operation", other: "%d operations"},
		forms{one: "%d операция", few: "%d операции", many: "%d операций", other: "%d операции"},
	},
	{
		"count.keys",
		forms{one: "%d licence key", other: "%d licence keys"},
		forms{one: "%d лицензионный ключ", few: "%d лицензионных ключа", many: "%d лицензионных ключей", other: "%d лицензионного ключа"},
	},
	{
		"count.queues",
		forms{one: "%d queue needs attention.", other: "%d queues need attention."},
		forms{one: "%d очередь требует внимания.", few: "%d очереди требуют внимания.", many: "%d очередей требуют внимания.", other: "%d очереди требуют внимания."},
	},
	{
		"count.more_ids",
		forms{one: "%d more ID", other: "%d more IDs"},
		forms{one: "Ещё %d ID", few: "Ещё %d ID", many: "Ещё %d ID", other: "Ещё %d ID"},
	},
	{
		"count.omitted",
		forms{one: "%d entry left out", other: "%d entries left out"},
		forms{one: "%d запись пропущена", few: "%d записи пропущены", many: "%d записей пропущено", other: "%d записи пропущены"},
	},
	{
		"count.matches",
		forms{one: "%d match", other: "%d matches"},
		forms{one: "%d совпадение", few: "%d совпадения", many: "%d совпадений", other: "%d совпадения"},
	},
}
