package storetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
	"github.com/testcontainers/testcontainers-go/modules/postgres"
)

// container starts a server for this process. Its data lies in memory: a container lives as long as the tests.
func container(ctx context.Context) (*server, error) {
	if err := reachable(ctx); err != nil {
		return nil, err
	}
	image := os.Getenv("ONEFOLD_TEST_IMAGE")
	if image == "" {
		image = "postgres:15"
	}
	log.SetDefault(log.NewNoopLogger()) // a dozen lines per package; the errors say enough
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	c, err := postgres.Run(ctx, image,
		postgres.WithDatabase("onefold"), postgres.WithUsername("onefold"), postgres.WithPassword("onefold"),
		postgres.BasicWaitStrategies(),
		testcontainers.WithCmdArgs("-c", "max_connections=200", "-c", "full_page_writes=off", "-c", "jit=off"),
		testcontainers.WithTmpfs(map[string]string{"/var/lib/postgresql/data": "rw"}),
		testcontainers.WithLogger(log.NewNoopLogger()),
	)
	end := func() error { return testcontainers.TerminateContainer(c) }
	if err != nil {
		return nil, errors.Join(fmt.Errorf("run image %s: %w", image, err), end())
	}
	url, err := c.ConnectionString(ctx, "sslmode=disable")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("find container's port: %w", err), end())
	}
	note("container of " + image)
	return &server{url: url, end: end}, nil
}

// reachable looks before the library does, which takes its time and writes a lot.
func reachable(ctx context.Context) error {
	network, address := "unix", "/var/run/docker.sock"
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		u, err := url.Parse(host)
		if err != nil {
			return fmt.Errorf("read DOCKER_HOST: %w", err)
		}
		network, address = u.Scheme, u.Host+u.Path
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return fmt.Errorf("Docker is not reachable: %w", err)
	}
	return conn.Close()
}
