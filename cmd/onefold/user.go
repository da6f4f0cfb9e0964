package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"onefold/domain/account"
	"onefold/domain/fault"
)

type userCmd struct {
	Add userAdd `cmd:"" help:"Add a person; asks for the password on the terminal."`
}

type userAdd struct {
	database
	Email string `required:"" help:"Address to sign in with."`
	Role  string `required:"" enum:"shopper,viewer,support,operator,approver,admin" help:"${enum}."`
}

// Run asks for the password (twice on a terminal, one line otherwise) and adds the person.
func (c *userAdd) Run(ctx context.Context) error {
	password, err := askPassword()
	if err != nil {
		return err
	}
	pool, err := c.open(ctx, "user")
	if err != nil {
		return err
	}
	defer pool.Close()
	_, err = account.Create(ctx, pool, c.Email, password, account.Role(c.Role))
	if e, ok := fault.Of(err); ok && len(e.Fields) > 0 {
		return fmt.Errorf("%s: %s", e.Fields[0].Field, e.Fields[0].Message)
	}
	return err
}

func askPassword() (string, error) {
	input := int(os.Stdin.Fd())
	if !term.IsTerminal(input) {
		line, err := bufio.NewReader(os.Stdin).ReadString('\n')
		if err != nil && line == "" {
			return "", errors.New("no password on standard input")
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	var typed [2][]byte
	for i, question := range []string{"Password: ", "Again: "} {
		fmt.Fprint(os.Stderr, question)
		answer, err := term.ReadPassword(input)
		fmt.Fprintln(os.Stderr)
		if err != nil {
			return "", fmt.Errorf("read password: %w", err)
		}
		typed[i] = answer
	}
	if string(typed[0]) != string(typed[1]) {
		return "", errors.New("the two passwords differ")
	}
	return string(typed[0]), nil
}
