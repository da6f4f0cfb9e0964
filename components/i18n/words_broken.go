package i18n

// What can be wrong with a form: checkout.broken.<field>.<rule>, spelled as the domain spells them, and checkout.refused.<code>.
//
//nolint:gochecknoglobals // constant
var brokenWords = []word{
	{"checkout.broken.email.required", "Enter an e-mail address for the receipt", "Укажите адрес эл. почты для чека"},
	{"checkout.broken.email.email", "Enter an e-mail address like name@example.com", "Укажите адрес вида name@example.com"},
	{"checkout.broken.name.max=200", "The name is longer than 200 characters", "Имя длиннее 200 символов"},
	{"checkout.broken.name.no-nul", "The name contains a character that can’t be stored", "В имени есть недопустимый символ"},
	{"checkout.broken.delivery.address.name.required", "Enter the recipient’s name", "Укажите имя получателя"},
	{"checkout.broken.delivery.address.name.max=200", "The name is longer than 200 characters", "Имя длиннее 200 символов"},
	{"checkout.broken.delivery.address.line1.required", "Enter the street and house", "Укажите улицу и дом"},
	{"checkout.broken.delivery.address.line1.max=200", "The street is longer than 200 characters", "Улица длиннее 200 символов"},
	{"checkout.broken.delivery.address.line2.max=200", "The flat is longer than 200 characters", "Квартира длиннее 200 символов"},
	{"checkout.broken.delivery.address.postcode.required", "Enter the postcode", "Укажите индекс"},
	{"checkout.broken.delivery.address.postcode.max=200", "The postcode is longer than 200 characters", "Индекс длиннее 200 символов"},
	{"checkout.broken.delivery.address.city.required", "Enter the city", "Укажите город"},
	{"checkout.broken.delivery.address.city.max=200", "The city is longer than 200 characters", "Город длиннее 200 символов"},
	{"checkout.broken.delivery.address.country.required", "Choose the country", "Выберите страну"},
	{"checkout.broken.delivery.address.country.max=200", "Choose a country from the list", "Выберите страну из списка"},
	{"checkout.broken.delivery.address.country.iso3166_1_alpha2", "Choose a country from the list", "Выберите страну из списка"},
	{"checkout.broken.promoCode.unknown", "There is no such promo code", "Такого промокода нет"},
	{"checkout.broken.promoCode.used", "This promo code has been used up", "Этот промокод уже использован"},
	{"checkout.broken.promoCode.max=200", "The promo code is too long", "Промокод слишком длинный"},
	{"checkout.refused.OUT_OF_STOCK", "Something in your basket is sold out. Nothing was ordered and nothing was charged.", "Часть товаров закончилась. Заказ не оформлен, деньги не списаны."},
	{"sign_in.wrong", "Wrong e-mail or password", "Неверный адрес или пароль"},
}
