package catalog

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"onefold/domain/store"
)

const plenty = 1_000_000

type demoProduct struct {
	id               string
	kind             Kind
	nameEN, nameRU   string
	blurbEN, blurbRU string
	onHand           int
	prices           [5]int64 // minor units, in the order of Currencies: kopecks, cents, cents, yen, thousandths of a dinar
}

func demoProducts() []demoProduct {
	return []demoProduct{
		{
			"lumen-notes", License, "Lumen Notes", "Lumen Notes",
			"Notes that find themselves. Plain files, instant search, no account.",
			"Заметки, которые находятся сами. Обычные файлы, мгновенный поиск, без регистрации.",
			plenty,
			[5]int64{249000, 2900, 2700, 4200, 8900},
		},
		{
			"gridline-studio", License, "Gridline Studio", "Gridline Studio",
			"A layout tool for people who like their columns exact.",
			"Вёрстка для тех, кто любит точные колонки.",
			plenty,
			[5]int64{690000, 7900, 7400, 11800, 24250},
		},
		{
			"tidepool-audio", License, "Tidepool Audio", "Tidepool Audio",
			"Record, trim and master a podcast in one window.",
			"Запись, монтаж и мастеринг подкаста в одном окне.",
			plenty,
			[5]int64{449000, 4900, 4600, 7300, 15000},
		},
		{
			"copper-ledger", License, "Copper Ledger", "Медная книга",
			"Bookkeeping for a company of one. Every kopeck accounted for.",
			"Бухгалтерия для компании из одного человека. Каждая копейка на месте.",
			plenty,
			[5]int64{329990, 3900, 3650, 5800, 11950},
		},
		{
			"northwind-maps", License, "Northwind Maps", "Карты Норд-Вест",
			"Offline maps with contour lines for walkers and sailors.",
			"Офлайн-карты с горизонталями для пеших и парусных походов.",
			plenty,
			[5]int64{149900, 1499, 1399, 2200, 4590},
		},
		{
			"pixel-orchard", License, "Pixel Orchard", "Пиксельный сад",
			"A small game about growing trees, one square at a time.",
			"Маленькая игра о том, как растут деревья, по одному квадрату.",
			plenty,
			[5]int64{4990, 499, 449, 700, 1500},
		},
		{
			"ink-and-iron", License, "Ink & Iron: Founder's Edition", "Чернила и железо: издание основателей",
			"The calligraphy studio with the founders' brush set. Five licences, ever.",
			"Студия каллиграфии с кистями основателей. Всего пять лицензий.",
			5,
			[5]int64{1290000, 14900, 13900, 22000, 45750},
		},
		{
			"aurora-synth", License, "Aurora Synth 1.0", "Синтезатор «Аврора» 1.0",
			"The first edition of the synthesizer. All copies have found a home.",
			"Первое издание синтезатора. Все копии уже нашли владельцев.",
			0,
			[5]int64{890000, 9900, 9300, 14800, 30400},
		},
		{
			"harbour-poster", Physical, "Harbour Poster", "Плакат «Гавань»",
			"A harbour at dawn in four inks, 50 × 70 cm. Travels in a tube.",
			"Гавань на рассвете в четыре краски, 50 × 70 см. Едет в тубусе.",
			300,
			[5]int64{189000, 2400, 2200, 3500, 7350},
		},
		{
			"field-notebook", Physical, "Field Notebook", "Полевой блокнот",
			"Sewn, pocket-sized, lies flat. Ruled on the left, blank on the right.",
			"Сшит нитью, помещается в карман, лежит ровно. Слева линейка, справа чистый лист.",
			500,
			[5]int64{99000, 1290, 1190, 1900, 3950},
		},
		{
			"slate-mug", Physical, "Slate Mug", "Кружка «Сланец»",
			"Stoneware for 350 ml of coffee. Survives most deadlines.",
			"Керамика на 350 мл кофе. Переживает почти все сроки.",
			400,
			[5]int64{129000, 1690, 1590, 2500, 5150},
		},
	}
}

// SeedDemo puts the demo's products and promo codes in. What is there already stays as it is, stock above all.
func SeedDemo(ctx context.Context, db store.DB) error {
	return store.InTx(ctx, db, func(tx pgx.Tx) error {
		if err := tx.SendBatch(ctx, demoBatch()).Close(); err != nil {
			return fmt.Errorf("seed catalogue: %w", err)
		}
		return nil
	})
}

func demoBatch() *pgx.Batch {
	var b pgx.Batch
	for i, p := range demoProducts() {
		b.Queue(`
			INSERT INTO products (id, kind, name_en, name_ru, blurb_en, blurb_ru, position, on_hand)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING`,
			p.id, p.kind, p.nameEN, p.nameRU, p.blurbEN, p.blurbRU, i+1, p.onHand)
		b.Queue(`
			INSERT INTO product_prices (product_id, currency, price_minor)
			SELECT $1, c.code, c.minor FROM unnest($2::text[], $3::bigint[]) AS c(code, minor) ON CONFLICT DO NOTHING`,
			p.id, Currencies(), p.prices[:])
	}
	b.Queue(`
		INSERT INTO promo_codes (code, percent_off, max_uses) VALUES ('WELCOME10', 10, $1), ('ONCE50', 50, 1)
		ON CONFLICT (code) DO NOTHING`, plenty)
	return &b
}
