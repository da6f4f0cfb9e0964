package main

import (
	"context"
	"fmt"
	"os"

	"onefold/domain/account"
)

type tokenCmd struct {
	Create tokenCreate `cmd:"" help:"Make a new API token; it is shown once."`
}

type tokenCreate struct {
	database
	Email string `required:"" help:"Whose token."`
}

// Run prints the token, alone on a line.
func (c *tokenCreate) Run(ctx context.Context) error {
	pool, err := c.open(ctx, "token")
	if err != nil {
		return err
	}
	defer pool.Close()
	token, err := account.CreateToken(ctx, pool, c.Email)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, token)
	return nil
}
