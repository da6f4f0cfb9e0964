package path

// Console is the front door of the operators' console.
func Console() string { return "/console" }

func ConsoleSignIn() string { return "/console/sign-in" }

func ConsoleOperations() string { return "/console/operations" }

func ConsolePayments() string { return "/console/payments" }

func ConsoleOrders() string { return "/console/orders" }

func ConsoleInbox() string { return "/console/inbox" }

func ConsoleOutbox() string { return "/console/outbox" }

// ConsoleSearch takes ?q=: any ID, of any kind.
func ConsoleSearch() string { return "/console/search" }

// ConsoleIntent is the one page about an intent; id is an order's or an operation's.
func ConsoleIntent(id string) string { return "/console/intents/" + segment(id) }

// ConsoleIntentJSON and ConsoleIntentText are the same intent as evidence, for a ticket.
func ConsoleIntentJSON(id string) string { return ConsoleIntent(id) + ".json" }

func ConsoleIntentText(id string) string { return ConsoleIntent(id) + ".txt" }

// ConsoleRiver is River's own UI, mounted for administrators.
func ConsoleRiver() string { return "/console/river" }

// ConsoleAlarms is what fires, what fired, and who looks after it.
func ConsoleAlarms() string { return "/console/alarms" }

// ConsoleAlarm takes POST: what somebody does about an alarm ("acknowledge", "silence").
func ConsoleAlarm(name, what string) string { return "/console/alarms/" + segment(name) + "/" + what }

// ConsoleStream sends news to open pages.
func ConsoleStream() string { return "/console/stream" }

// ConsolePrefs also takes POST: the fields that the form names.
func ConsolePrefs() string { return "/console/prefs" }

func ConsoleHelp() string { return "/console/help" }

// ConsoleRetention is what cleaning would remove.
func ConsoleRetention() string { return "/console/retention" }

func ConsoleUsers() string { return "/console/users" }

// ConsoleViews also takes POST: keeps an address under a name.
func ConsoleViews() string { return "/console/views" }

// ConsoleViewRemove takes POST.
func ConsoleViewRemove(id string) string { return "/console/views/" + segment(id) + "/remove" }

// ConsoleDrills also takes POST: starts one.
func ConsoleDrills() string { return "/console/drills" }

func ConsoleDrill(id string) string { return "/console/drills/" + segment(id) }

// ConsoleWork is a queue of work.
func ConsoleWork(queue string) string { return "/console/work/" + segment(queue) }

// ConsoleAct is the page of one action on one thing; ?key= is the form's. It also takes POST: the press.
func ConsoleAct(action, object string) string {
	return "/console/act/" + segment(action) + "/" + segment(object)
}

// ConsoleReconcile lists the runs.
func ConsoleReconcile() string { return "/console/reconcile" }

func ConsoleRun(id string) string { return "/console/reconcile/" + segment(id) }

func ConsoleBatches() string { return "/console/batches" }

func ConsoleBatch(id string) string { return "/console/batches/" + segment(id) }

// ConsoleBatchMove takes POST: pause, resume or stop.
func ConsoleBatchMove(id string) string { return ConsoleBatch(id) + "/move" }

// ConsoleBatchRetry takes POST: previews what failed.
func ConsoleBatchRetry(id string) string { return ConsoleBatch(id) + "/retry" }

// ConsoleBulkPreview takes POST: freezes a set of things.
func ConsoleBulkPreview() string { return "/console/bulk/preview" }

// ConsoleBulk takes POST: starts a previewed batch.
func ConsoleBulk() string { return "/console/bulk" }

func ConsoleAudit() string { return "/console/audit" }
