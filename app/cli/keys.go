package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/clock"
	"mailer/app/schedule"
	"mailer/app/server"
)

// expiryFlags say until when a key is one.
type expiryFlags struct{ in, at string }

// time returns that time; zero: for ever.
func (f *expiryFlags) time(now time.Time) (time.Time, error) {
	switch {
	case f.in != "" && f.at != "":
		return time.Time{}, errors.New("say either --expires-in or --expires-at")
	case f.in != "":
		d, err := schedule.ParseSpan(f.in)
		if err == nil && d == 0 {
			err = errors.New("must be longer than nothing")
		}
		if err != nil {
			return time.Time{}, fmt.Errorf("--expires-in %w", err)
		}
		return now.Add(d), nil
	case f.at != "":
		at, err := schedule.ParseMoment(f.at)
		if err != nil {
			return time.Time{}, fmt.Errorf("--expires-at: %w", err)
		}
		return at, nil
	}
	return time.Time{}, nil
}

func (c *Store) keys() *cobra.Command {
	var in app.KeyInput
	var expiry expiryFlags
	create := newCommand("create", "Make an API key and print it, once", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		var err error
		if in.ExpiresAt, err = expiry.time(clock.Now()); err != nil {
			return err
		}
		return c.withTeam(cmd, true, func(ctx context.Context, e *server.Server, team app.Team) error {
			token, key, err := e.Teams.CreateKey(ctx, team.ID, in)
			if err != nil {
				return err
			}
			return c.done(map[string]string{"object": "api_key", "id": key.ID, "token": token}, token)
		})
	})
	f := create.Flags()
	f.StringVar(&in.Name, "name", "", "what the key is for (required)")
	f.StringVar((*string)(&in.Permission), "permission", string(app.SendingAccess), "full_access or sending_access")
	f.StringVar(&in.Domain, "domain", "", "the one domain that the key may send from; with sending_access")
	f.StringVar((*string)(&in.Role), "role", string(app.RoleOwner), "owner, admin or member")
	f.StringVar(&expiry.in, "expires-in", "", "how long it is a key, like 90d (default: for ever)")
	f.StringVar(&expiry.at, "expires-at", "", "until when it is a key, like 2027-01-31T12:00:00Z")
	f.StringSliceVar(&in.AllowedIPs, "allow-ip", nil, "address or range of addresses (CIDR) that it may be used from; repeatable (default: any)")
	list := newCommand("list", "List the keys of a team", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			keys, err := e.Teams.ListKeys(ctx, team.ID)
			if err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, Keys(keys))
		})
	})
	revoke := newCommand("revoke ID", "End a key; a running server obeys within a second", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			if err := e.Teams.RevokeKey(ctx, args[0]); err != nil {
				return err
			}
			return c.done(map[string]any{"object": "api_key", "id": args[0], "deleted": true}, "revoked "+args[0])
		})
	})
	return group("keys", "API keys", c.teamFlag(c.jsonFlag(required(create, "--name my-app"))), c.teamFlag(c.jsonFlag(list)), c.jsonFlag(revoke))
}
