package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"mailer/app/rekey"
	"mailer/app/server"
)

func (c *Store) masterKey() *cobra.Command {
	rotate := newCommand("rotate", "Add a new master key to the file and seal everything anew with it; the old ones still open", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			bar := Progress(ctx, "seal anew", 0)
			r, err := e.Rekey.Rotate(ctx, func() bool { return c.InUse(c.flags.DB) }, func(resealed, left int) { bar.At(int64(resealed), int64(resealed+left)) })
			bar.Done()
			if err != nil {
				return err
			}
			return c.done(r, rotated(r))
		})
	})
	retire := newCommand("retire", "End all master keys but the newest, but for links to unsubscribe and tracked links", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			r, err := e.Rekey.Retire(ctx)
			if err != nil {
				return err
			}
			return c.done(r, fmt.Sprintf("one master key seals and opens; %d are retired, and verify links to unsubscribe and tracked links for ever: keep them in the file. Keep a copy of the old file with backups from before the rotation", r.Retired))
		})
	})
	list := newCommand("list", "Show the master keys by their fingerprints, and how many values are sealed with each", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			keys, err := e.Rekey.List(ctx)
			if err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, MasterKeys(keys))
		})
	})
	return group("master-key", "The master key: rotate and retire it", c.jsonFlag(rotate), c.jsonFlag(retire), c.jsonFlag(list))
}

func rotated(r rekey.Rotation) string {
	words := fmt.Sprintf("%d master keys open, the new one seals; %d values sealed anew, %d left", r.Keys, r.Resealed, r.Left)
	if r.Left > 0 {
		words += ": the server that runs has not taken the key up; send it SIGHUP or start it anew, with this very file, and look at mailer master-key list"
	}
	return words + ". Back up the master key file now"
}

// MasterKeys is a list of master keys.
func MasterKeys(keys []rekey.Key) Table {
	t := Table{Head: []string{"KEY", "STATE", "SEALED"}}
	for _, k := range keys {
		t.Rows = append(t.Rows, Row{Object: k, Cells: []string{k.Fingerprint, k.State, strconv.Itoa(k.Sealed)}})
	}
	return t
}
