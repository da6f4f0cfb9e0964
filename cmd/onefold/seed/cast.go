package seed

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"onefold/domain/money"
)

// product of the catalogue with one of its prices.
type product struct {
	id, kind, name string
	price          money.Amount
}

// shelf holds what can be bought, by kind.
type shelf map[string][]product

// readShelf reads the catalogue. Of the currencies RUB is on sale most often, as in the shop.
func readShelf(ctx context.Context, tx pgx.Tx) (shelf, error) {
	rows, err := tx.Query(ctx, `SELECT p.id, p.kind, p.name_en, c.price_minor, c.currency FROM products p JOIN product_prices c ON c.product_id = p.id
		CROSS JOIN LATERAL generate_series(1, CASE c.currency WHEN 'RUB' THEN 8 ELSE 1 END) ORDER BY p.position, p.id, c.currency`)
	if err != nil {
		return nil, fmt.Errorf("read catalogue: %w", err)
	}
	found := shelf{}
	var p product
	_, err = pgx.ForEachRow(rows, []any{&p.id, &p.kind, &p.name, &p.price.Minor, &p.price.Currency}, func() error {
		found[p.kind] = append(found[p.kind], p)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read products: %w", err)
	}
	return found, nil
}

// space is where the IDs of seeded people come from.
var space = uuid.MustParse("5eed0000-0000-5000-8000-000000000000") //nolint:gochecknoglobals // a constant; Go has none for arrays

// person number n of a chapter; -1 is its operator.
func (c chapter) person(n int) uuid.UUID {
	return uuid.NewSHA1(space, binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(c.seed)), uint64(n))) //nolint:gosec // all bits are meant
}

// ordersEach is how many orders a person makes on average.
const ordersEach = 3

// people writes who orders from lo to hi come from.
func (c chapter) people(r *rows, lo, hi int, since time.Time) {
	if lo == 0 {
		r.add(users, id(c.person(-1)), fmt.Sprintf("operator.%d@seed.example.com", c.seed), "operator", since)
	}
	for n := lo / ordersEach; n <= (hi-1)/ordersEach; n++ {
		if n%4 == 0 {
			r.add(users, id(c.person(n)), nil, "guest", since)
			continue
		}
		r.add(users, id(c.person(n)), fmt.Sprintf("buyer.%d.%d@seed.example.com", n, c.seed), "shopper", since)
	}
}

func someone(random *rand.Rand) (name, email string) {
	first := []string{"Anna", "Boris", "Clara", "Dmitri", "Elena", "Felix", "Galina", "Hugo", "Irina", "Jonas", "Kira", "Leo", "Maria", "Nikolai", "Olga", "Pavel"}
	last := []string{"Petrova", "Lindqvist", "Sokolov", "Weber", "Ivanova", "Moreau", "Orlov", "Jansen", "Smirnova", "Rossi", "Kuznetsov", "Nagy"}
	name = first[random.IntN(len(first))] + " " + last[random.IntN(len(last))]
	return name, fmt.Sprintf("%s.%d@example.com", strings.ToLower(strings.ReplaceAll(name, " ", ".")), random.IntN(1000))
}
