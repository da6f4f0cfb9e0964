// Package crash names the places where the tests end, stop or kill a process, and lets them set its clock wrong. In ordinary
// builds Point does nothing and Skew is 0. With the build tag crashpoints, the process named by ONEFOLD_CRASH dies by SIGKILL
// exactly there, or gets another signal, and ONEFOLD_CLOCK says how far its clock is off.
package crash

// The places.
const (
	BeforeCommit  = "before-commit"  // a local operation or an effect is written, not committed
	AfterCommit   = "after-commit"   // a local operation is committed, its answer not sent
	AfterClaim    = "after-claim"    // an external operation is leased, nothing called
	AfterCall     = "after-call"     // the outside answered, nothing recorded
	AfterRecord   = "after-record"   // what the outside said is recorded, the job not done
	AfterEffect   = "after-effect"   // an effect and its operation are committed, the job not done
	BeforePublish = "before-publish" // the relay wrote a batch, not committed
	AfterPublish  = "after-publish"  // the relay committed a batch
	AfterReceive  = "after-receive"  // an event is stored, its sender not answered
	BeforeApply   = "before-apply"   // an event is applied, not committed
	AfterApply    = "after-apply"    // an event is applied, the job not done
)
