package operator

import (
	"context"

	"github.com/jackc/pgx/v5"

	"onefold/domain/alarm"
)

const judgeAcknowledge = `SELECT name, NULL::uuid, name, state, CASE WHEN state = 'FIRING' THEN 'SAFE' ELSE 'UNSAFE' END,
	CASE WHEN state = 'FIRING' THEN 'audit' ELSE 'not_firing' END, NULL::timestamptz, NULL::bigint, NULL::text FROM alarms WHERE name = ANY($1)`

func doAcknowledge(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	return alarm.Acknowledge(ctx, tx, p.op.ID, p.Object, p.Actor.ID, p.Reason)
}

// judgeSilence: silence holds back what people are told, never what is done.
const judgeSilence = `SELECT name, NULL::uuid, name, state, 'SAFE', 'audit', NULL::timestamptz, NULL::bigint, NULL::text FROM alarms WHERE name = ANY($1)`

func doSilence(ctx context.Context, tx pgx.Tx, _ *Desk, p *pressing) error {
	return alarm.Silence(ctx, tx, p.op.ID, p.Object, p.Actor.ID, p.Reason, p.Input.For)
}
