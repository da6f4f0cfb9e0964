package catalog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"onefold/domain/catalog"
)

func TestSoughtNarrowsAndKeepsTheOrder(t *testing.T) {
	t.Parallel()
	all := []catalog.Product{
		{ID: "a", Kind: catalog.License, Name: "Карты Норд-Вест", Blurb: "Offline", Stock: 3},
		{ID: "b", Kind: catalog.Physical, Name: "Mug", Blurb: "Stoneware for coffee", Stock: 0},
		{ID: "c", Kind: catalog.Physical, Name: "Poster", Blurb: "offline art", Stock: 1},
	}
	for want, sought := range map[string]catalog.Sought{
		"abc": {}, "bc": {Kind: catalog.Physical}, "c": {Kind: catalog.Physical, InStock: true}, "ac": {Text: "OFFLINE"}, "a": {Text: "норд"},
		"": {Text: "nothing like it"}, "b": {Text: "mug\nstone"},
	} {
		ids := ""
		for range 2 { // it changes nothing
			ids = ""
			for _, p := range sought.In(all) {
				ids += p.ID
			}
		}
		require.Equal(t, want, ids)
	}
	require.Len(t, all, 3)
}
