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
	rotate := newCommand("rotate", "Add a new master key to the file and encrypt all values with it; the old keys can still decrypt", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
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
	retire := newCommand("retire", "Retire all master keys except the newest; unsubscribe links and tracked links keep working", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			r, err := e.Rekey.Retire(ctx)
			if err != nil {
				return err
			}
			return c.done(r, fmt.Sprintf("one master key seals and opens; %d are retired, and verify links to unsubscribe and tracked links for ever: keep them in the file. Keep a copy of the old file with backups from before the rotation", r.Retired))
		})
	})
	list := newCommand("list", "List master keys by fingerprint, with the number of values encrypted with each", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			keys, err := e.Rekey.List(ctx)
			if err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, MasterKeys(keys))
		})
	})
	return group("master-key", "List, rotate and retire the master key", c.jsonFlag(rotate), c.jsonFlag(retire), c.jsonFlag(list))
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
