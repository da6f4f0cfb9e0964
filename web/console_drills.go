package web

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	view "onefold/components/console"
	"onefold/components/path"
	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/operator"
)

// Drills are rehearsals of what goes wrong, run live against this shop and its simulator.
type Drills struct {
	Names []string
	// Refused says why they can't be run here: "live" or "environment"; "" for no reason. It is asked before every run.
	Refused func(ctx context.Context) (string, error)
	// Run runs one, and tells of every step; it may be called from several goroutines at a time.
	Run func(ctx context.Context, name string, watch func(step string)) DrillResult
}

// DrillResult is what came of one.
type DrillResult struct {
	OK                    bool
	Sent, Absorbed, Error string
	Tries                 int // technical attempts
	Want                  int // of each of Counts
	Counts                []DrillCount
	Orders                []string // IDs
}

// DrillCount is what exists afterwards.
type DrillCount struct {
	Kind string // orders, charges, licenses, bonuses, mails
	N    int
}

// runsDrills is the least role that may.
const runsDrills = account.Operator

// drillRuns are kept by the process that ran them: they prove something to whoever watches, and nothing depends on them.
type drillRuns struct {
	mu   sync.Mutex
	list []*drillRun // newest first
}

type drillRun struct {
	mu    sync.Mutex
	shown view.DrillRun
}

const (
	keptDrills = 20
	keptSteps  = 200
)

// watch adds a step; equal ones in a row are counted.
func (r *drillRun) watch(step string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.shown.Steps); n > 0 && r.shown.Steps[n-1].What == step {
		r.shown.Steps[n-1].Times++
	} else if n < keptSteps {
		r.shown.Steps = append(r.shown.Steps, view.DrillStep{After: time.Since(r.shown.At), What: step, Times: 1})
	}
}

func (r *drillRun) end(d DrillResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.shown
	s.Ended, s.OK, s.Sent, s.Absorbed, s.Error, s.Tries, s.Want, s.Orders = true, d.OK, d.Sent, d.Absorbed, d.Error, d.Tries, d.Want, d.Orders
	for _, c := range d.Counts {
		s.Results = append(s.Results, view.DrillResult{Kind: c.Kind, N: c.N})
	}
}

func (r *drillRun) now() view.DrillRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.shown
	s.Steps = slices.Clone(s.Steps)
	return s
}

// start adds a run, unless its form has been pressed before or another one runs: then that one is returned.
func (d *drillRuns) start(run *drillRun) (id string, fresh bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, other := range d.list {
		if shown := other.now(); shown.ID == run.shown.ID || !shown.Ended {
			return shown.ID, false
		}
	}
	d.list = append([]*drillRun{run}, d.list[:min(len(d.list), keptDrills-1)]...)
	return run.shown.ID, true
}

func (d *drillRuns) all() (list []view.DrillRun) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.list {
		list = append(list, r.now())
	}
	return list
}

// consoleDrills: GET /console/drills.
func (h *Handlers) consoleDrills(c *fiber.Ctx) error {
	refused, err := h.drillsRefused(c.UserContext())
	if err != nil {
		return err
	}
	p, _ := h.consolePage(c, "drills")
	m := view.DrillsModel{
		Refused: refused, May: currentUser(c).Role.AtLeast(runsDrills), Needed: string(runsDrills), Press: uuid.NewString(), Runs: h.drills.all(),
	}
	if refused == "" {
		m.Names = h.Drills.Names
	}
	return h.render(c, fiber.StatusOK, view.Drills(p, m))
}

func (h *Handlers) drillsRefused(ctx context.Context) (string, error) {
	if h.Drills == nil {
		return "environment", nil
	}
	return h.Drills.Refused(ctx)
}

// consoleDrillStart: POST /console/drills. One runs at a time; pressing again leads to it.
func (h *Handlers) consoleDrillStart(c *fiber.Ctx) error {
	refused, err := h.drillsRefused(c.UserContext())
	if err != nil {
		return err
	}
	if refused != "" {
		return fault.New(fault.Conflict, "DRILLS_REFUSED", "Drills are never run here: "+refused+".")
	}
	name, press := c.FormValue("drill"), c.FormValue("press")
	if !slices.Contains(h.Drills.Names, name) || len(press) < 8 {
		return badAddress(fault.Validation(fault.Field{Field: "drill", Rule: "known", Message: "is no drill"}))
	}
	user := currentUser(c)
	run := &drillRun{shown: view.DrillRun{
		ID: uuid.NewSHA1(user.ID, []byte(press)).String(), Name: strings.Clone(name), By: account.MaskEmail(user.Email), At: h.Now(),
	}}
	id, fresh := h.drills.start(run)
	told := operator.Told{Actor: user, What: "drill", ObjectType: "drill", Object: id, Detail: map[string]any{"drill": run.shown.Name}}
	if !fresh {
		if err := h.Operator.Repeated(c.UserContext(), told); err != nil {
			return err
		}
		return redirect(c, path.ConsoleDrill(id))
	}
	if err := h.Operator.Tell(c.UserContext(), told); err != nil { // what isn't in the audit isn't done
		run.end(DrillResult{Error: "the audit can't be written"})
		return err
	}
	go h.drill(run)
	return redirect(c, path.ConsoleDrill(id))
}

// drill runs in the background until it has ended; the process's own end ends it, too.
func (h *Handlers) drill(run *drillRun) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-h.Done:
			cancel()
		case <-ended:
		}
	}()
	run.end(h.Drills.Run(ctx, run.shown.Name, run.watch))
}

// consoleDrill: GET /console/drills/{id}.
func (h *Handlers) consoleDrill(c *fiber.Ctx) error {
	for _, r := range h.drills.all() {
		if r.ID == c.Params("id") {
			p, _ := h.consolePage(c, "drills")
			return h.render(c, fiber.StatusOK, view.Drill(p, r))
		}
	}
	return fault.Missing("drill")
}
