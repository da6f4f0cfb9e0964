package path

// Console is the front door of the operators' console.
func Console() string { return "/console" }

func ConsoleSignIn() string { return "/console/sign-in" }

func ConsoleOperations() string { return "/console/operations" }

func ConsolePayments() string { return "/console/payments" }

func ConsoleInbox() string { return "/console/inbox" }

func ConsoleOutbox() string { return "/console/outbox" }

// ConsoleSearch takes ?q=: any ID, of any kind.
func ConsoleSearch() string { return "/console/search" }

// ConsoleIntent is the one page about an intent; id is an order's or an operation's.
func ConsoleIntent(id string) string { return "/console/intents/" + segment(id) }

// ConsoleRiver is River's own UI, mounted for administrators.
func ConsoleRiver() string { return "/console/river" }
