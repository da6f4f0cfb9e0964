package invariant

// Evaluate is Check inside a transaction of the test's own.
var Evaluate = evaluate
