package i18n

// What can be wrong with a form: checkout.broken.<field>.<rule>, spelled as the domain spells them, and checkout.refused.<code>.
//
//nolint:gochecknoglobals // constant
var brokenWords = []word{
	{"checkout.broken.email.required", "Enter an e-mail address for the receipt", "Укажите адрес эл. почты для чека"},
	{"checkout.broken.email.email", "Enter an e-mail address like name@example.com", "Укажите адрес вида name@example.com"},
	{"checkout.broken.name.max=200", "The name is longer than 200 characters", "Имя длиннее 200 символов"},
	{"checkout.broken.name.no-nul", "The name contains a character that can’t be stored", "В имени есть недопустимый символ"},
	{"checkout.broken.promoCode.unknown", "There is no such promo code", "Такого промокода нет"},
	{"checkout.broken.promoCode.used", "This promo code has been used up", "Этот промокод уже использован"},
	{"checkout.broken.promoCode.max=200", "The promo code is too long", "Промокод слишком длинный"},
	{"checkout.refused.OUT_OF_STOCK", "Something in your basket is sold out. Nothing was ordered and nothing was charged.", "Часть товаров закончилась. Заказ не оформлен, деньги не списаны."},
	{"sign_in.wrong", "Wrong e-mail or password", "Неверный адрес или пароль"},
}
