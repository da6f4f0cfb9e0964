package main

import (
	"context"
	"fmt"
	"os"

	"onefold/domain/store"
	"onefold/jobs/riverschema"
)

type migrateCmd struct {
	Up     migrateUp     `cmd:"" help:"Apply everything that is missing."`
	Down   migrateDown   `cmd:"" help:"Take the newest step back, with the data it holds."`
	Status migrateStatus `cmd:"" help:"Show the steps."`
}

type migrateUp struct{ database }

// Run migrates up.
func (c *migrateUp) Run(ctx context.Context) error {
	address, err := c.url()
	if err != nil {
		return err
	}
	return migrate(ctx, address)
}

type migrateDown struct{ database }

// Run migrates down by one step; with our first step River's tables go too.
func (c *migrateDown) Run(ctx context.Context) error {
	address, err := c.url()
	if err != nil {
		return err
	}
	if err := store.MigrateDown(ctx, address); err != nil {
		return err
	}
	steps, err := store.MigrationStatus(ctx, address)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if !s.AppliedAt.IsZero() {
			return nil
		}
	}
	return riverschema.MigrateDown(ctx, address)
}

type migrateStatus struct{ database }

// Run prints a line per step.
func (c *migrateStatus) Run(ctx context.Context) error {
	address, err := c.url()
	if err != nil {
		return err
	}
	steps, err := store.MigrationStatus(ctx, address)
	if err != nil {
		return err
	}
	for _, s := range steps {
		applied := "missing"
		if !s.AppliedAt.IsZero() {
			applied = s.AppliedAt.UTC().Format("2006-01-02 15:04:05Z")
		}
		fmt.Fprintf(os.Stdout, "%5d  %-30s %s\n", s.Version, s.Name, applied)
	}
	return nil
}
