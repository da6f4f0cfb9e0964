package web

import (
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"

	"onefold/components/path"
	"onefold/domain/account"
	"onefold/domain/fault"
	"onefold/domain/operator"
)

// riverChanges are the changes that River's pages may make, spelled exactly: whatever else is added there later, and deleting
// jobs, stays closed. The names are our queues', so no escapes are needed.
var riverChanges = regexp.MustCompile(`^(POST /api/jobs/(retry|cancel)|PUT /api/queues/[a-z_]+/(pause|resume))$`)

// riverGuard is what River's pages lack: roles, a same-origin rule and an audit line. Their requests carry no form token, and they
// take a text/plain POST, which any site may send; so the browser's own word about the origin is required.
func (h *Handlers) riverGuard(c *fiber.Ctx) error {
	widenForRiver(c)
	if c.Method() == http.MethodGet || c.Method() == http.MethodHead {
		return h.riverAssets(c)
	}
	user, call := currentUser(c), c.Method()+" "+strings.TrimPrefix(c.Path(), path.ConsoleRiver())
	err := h.mayChangeJobs(c, user, call)
	h.Logger.LogAttrs(c.UserContext(), slog.LevelWarn, "job pages change", slog.String("user_id", user.ID.String()),
		slog.String("role", string(user.Role)), slog.String("call", call), slog.Bool("allowed", err == nil))
	c.Locals(localAudited, true)
	told := operator.Told{Actor: user, What: "job_pages", ObjectType: "job", Object: call + " " + firstJobs(c.BodyRaw())}
	if err != nil {
		if err := h.Operator.Refused(c.UserContext(), told, err.Code); err != nil {
			return err
		}
		return c.Status(statusOf(err)).SendString(err.Message) // River's pages show the text of a refusal as it is
	}
	if err := h.Operator.Tell(c.UserContext(), told); err != nil {
		return err // what isn't in the audit isn't done
	}
	return c.Next()
}

// firstJobs is the beginning of a request's body, which names the jobs.
func firstJobs(body []byte) string {
	const enough = 200 // bytes
	return strings.ToValidUTF8(strings.ReplaceAll(string(body[:min(len(body), enough)]), "\x00", ""), "")
}

// widenForRiver: River's toasts write a style element with a text of their own making, for which no hash would do, and its ticks are
// data: images. Style attributes, and scripts of any kind but River's own files, stay forbidden here as everywhere. (Its attempt to
// see whether eval is allowed is refused, which it expects.)
func widenForRiver(c *fiber.Ctx) {
	policy := string(c.Response().Header.Peek(fiber.HeaderContentSecurityPolicy))
	c.Set(fiber.HeaderContentSecurityPolicy, strings.NewReplacer(
		"style-src 'self';", "style-src 'self'; style-src-elem 'self' 'unsafe-inline';", "img-src 'self';", "img-src 'self' data:;",
	).Replace(policy))
}

func (h *Handlers) mayChangeJobs(c *fiber.Ctx, user account.User, call string) *fault.Error {
	switch {
	case !h.oursForSure(c):
		return fault.New(fault.Forbidden, "FORBIDDEN", "This request didn't come from the console.")
	case !user.Role.AtLeast(account.Admin):
		return account.Needs(account.Admin)
	case !riverChanges.MatchString(call):
		return fault.New(fault.Forbidden, "FORBIDDEN", "Jobs are never deleted here, and queues are set up in code.")
	}
	return nil
}

// oursForSure is sameOrigin without the benefit of the doubt: silence isn't enough.
func (h *Handlers) oursForSure(c *fiber.Ctx) bool {
	if site := c.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	u, err := url.Parse(c.Get(fiber.HeaderOrigin))
	return err == nil && u.Host != "" && h.sameOrigin(c)
}

// riverAssets lets browsers keep River's scripts, whose names change with their content.
func (h *Handlers) riverAssets(c *fiber.Ctx) error {
	err := c.Next()
	if err == nil && strings.HasPrefix(c.Path(), path.ConsoleRiver()+"/assets/") && c.Response().StatusCode() == fiber.StatusOK {
		c.Set(fiber.HeaderCacheControl, "private, max-age=31536000, immutable")
	}
	return err
}

// riverPages hands the request to River.
func (h *Handlers) riverPages(c *fiber.Ctx) error {
	if h.River == nil {
		return fiber.ErrNotFound
	}
	return adaptor.HTTPHandler(h.River)(c)
}
