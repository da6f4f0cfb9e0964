//go:build !race

package account

func costOf(production cost) cost { return production }
