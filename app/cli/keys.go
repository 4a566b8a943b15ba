package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/kit/schedule"
	"mailer/app/server"
)

// expiryFlags are the flags for a key's expiry.
type expiryFlags struct{ in, at string }

// time returns the expiry; zero: never.
func (f *expiryFlags) time(now time.Time) (time.Time, error) {
	switch {
	case f.in != "" && f.at != "":
		return time.Time{}, errors.New("use either --expires-in or --expires-at, not both")
	case f.in != "":
		d, err := schedule.ParseSpan(f.in)
		if err == nil && d == 0 {
			err = errors.New("must be greater than 0")
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
	create := newCommand("create", "Create an API key and print it once", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		var err error
		if in.ExpiresAt, err = expiry.time(clock.Now()); err != nil {
			return err
		}
		if in.Domain != "" && !cmd.Flags().Changed("permission") {
			in.Permission = app.SendingAccess
		}
		return c.withTeam(cmd, true, func(ctx context.Context, e *server.Server, team app.Team) error {
			token, key, err := e.Teams.CreateKey(ctx, team.ID, in)
			if err != nil {
				return noDomain(ctx, e, &team, in.Domain, err)
			}
			if !cmd.Flags().Changed("permission") && !cmd.Flags().Changed("role") && in.Domain == "" {
				fmt.Fprintln(os.Stderr, "mailer: this key has full access. For a program that only sends, use --permission sending_access, which is the default from 0.4.0")
			}
			return c.printDone(map[string]string{"object": "api_key", "id": key.ID, "token": token}, token)
		})
	})
	f := create.Flags()
	f.StringVar(&in.Name, "name", "", "name of the key (required)")
	f.StringVar((*string)(&in.Permission), "permission", string(app.FullAccess), "full_access or sending_access")
	f.StringVar(&in.Domain, "domain", "", "the only domain that the key can send from; implies sending_access")
	f.StringVar((*string)(&in.Role), "role", string(app.RoleOwner), "owner, admin or member")
	f.StringVar(&expiry.in, "expires-in", "", "how long the key is valid, like 90d (default: no limit)")
	f.StringVar(&expiry.at, "expires-at", "", "when the key expires, like 2027-01-31T12:00:00Z")
	f.StringSliceVar(&in.AllowedIPs, "allow-ip", nil, "IP address or range (CIDR) from which the key can be used; repeatable (default: any)")
	list := newCommand("list", "List the keys of a team", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			keys, err := e.Teams.ListKeys(ctx, team.ID)
			if err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, Keys(keys))
		})
	})
	revoke := newCommand("revoke ID", "Revoke an API key; a running server rejects it within one second", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			if err := e.Teams.RevokeKey(ctx, args[0]); err != nil {
				return notFound(err, "API key with the id", args[0], "keys list")
			}
			return c.printDone(map[string]any{"object": "api_key", "id": args[0], "deleted": true}, "revoked "+args[0])
		})
	})
	return group("keys", "API keys", c.teamFlag(c.jsonFlag(required(create, "--name my-app"))), c.teamFlag(c.jsonFlag(list)), c.jsonFlag(revoke))
}
