package main

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"time"

	"onefold/domain/alarm"
	"onefold/domain/invariant"
	"onefold/domain/provider"
	"onefold/domain/provider/alerthook"
	"onefold/jobs"
	"onefold/web"
)

// alerting says what raises an alarm and who is told.
type alerting struct {
	AlarmLimits  map[string]string `name:"alarm-limits" env:"ONEFOLD_ALARM_LIMITS" placeholder:"unknown_payments=15m;…" help:"Other limits than those of the help page: a duration for an age, a number for a count."`
	AlarmEvery   time.Duration     `name:"alarm-every" env:"ONEFOLD_ALARM_EVERY" default:"15s" help:"Pause between two looks at the alarms."`
	MonitorEvery time.Duration     `name:"monitor-every" env:"ONEFOLD_MONITOR_EVERY" default:"1m" help:"Pause between two looks at the invariants."`
	AlertWebhook string            `name:"alert-webhook" env:"ONEFOLD_ALERT_WEBHOOK" placeholder:"https://…" help:"Gets one JSON POST for every alarm that fires or recovers."`
	AlertMail    string            `name:"alert-mail" env:"ONEFOLD_ALERT_MAIL" help:"Address that gets a mail for every alarm that fires or recovers."`
}

// limits names the setting that can't be used.
func (a alerting) limits() (alarm.Limits, error) {
	limits, err := alarm.ParseLimits(a.AlarmLimits)
	if err != nil {
		return nil, fmt.Errorf("--alarm-limits (ONEFOLD_ALARM_LIMITS): %w", err)
	}
	if a.AlarmEvery < time.Second {
		return nil, errors.New("--alarm-every (ONEFOLD_ALARM_EVERY) must be at least 1s")
	}
	if a.MonitorEvery < time.Second || a.MonitorEvery > invariant.MonitorAtMost {
		return nil, errors.New("--monitor-every (ONEFOLD_MONITOR_EVERY) must lie between 1s and 2m")
	}
	if a.AlertWebhook != "" {
		if u, err := url.Parse(a.AlertWebhook); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, errors.New("--alert-webhook (ONEFOLD_ALERT_WEBHOOK) must look like https://hooks.example/…") // it may hold a secret
		}
	}
	if a.AlertMail != "" {
		if _, err := mail.ParseAddress(a.AlertMail); err != nil {
			return nil, fmt.Errorf("--alert-mail (ONEFOLD_ALERT_MAIL) must be an e-mail address, not %q", a.AlertMail)
		}
	}
	return limits, nil
}

// alarms connects the alarms with the ways to tell people.
func (s *server) alarms(mailer provider.Mailer) (jobs.Alarms, error) {
	limits, err := s.cfg.limits()
	if err != nil {
		return jobs.Alarms{}, err
	}
	t := &alarm.Teller{
		DB: s.work, Log: s.log, MailTo: s.cfg.AlertMail, Domain: mailDomain(s.cfg.PublicURL),
		Link: func(name string) string { return s.cfg.PublicURL + web.AlarmList(name) },
	}
	if s.cfg.AlertWebhook != "" {
		t.Webhook = alerthook.New(s.cfg.AlertWebhook)
	}
	if s.cfg.AlertMail != "" {
		t.Mailer = mailer
	}
	return jobs.Alarms{Teller: t, Limits: limits, Every: s.cfg.AlarmEvery}, nil
}
