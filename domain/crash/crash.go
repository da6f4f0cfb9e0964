// Package crash names the places where the tests kill a process. In ordinary builds Point does nothing; with the build tag
// crashpoints, the process named by ONEFOLD_CRASH dies by SIGKILL, exactly there.
package crash

// The places.
const (
	AfterCommit  = "after-commit"  // a local operation is committed, its answer not sent
	AfterClaim   = "after-claim"   // an external operation is leased, nothing called
	AfterCall    = "after-call"    // the outside answered, nothing recorded
	AfterEffect  = "after-effect"  // an effect and its operation are committed, the job not done
	AfterPublish = "after-publish" // the relay committed a batch
)
