// Package e2e tests onefold from outside: it builds the binary, starts and kills real processes, and looks at them only through
// HTTP, SQL (as an observer, or to hold locks) and the provider simulator's control API. Its tests need the build tag e2e.
//
// What a failed test leaves behind (logs of every process, screenshots) is in artefacts/. ONEFOLD_SCREENSHOTS=dir makes
// TestPagesAreAccessible keep a picture of every page in every theme, width and language.
package e2e
