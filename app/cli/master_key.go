package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"mailer/app/operate/rekey"
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
			return c.printDone(r, rotationText(r))
		})
	})
	retire := newCommand("retire", "Retire all master keys except the newest; unsubscribe links and tracked links keep working", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			r, err := e.Rekey.Retire(ctx)
			if err != nil {
				return err
			}
			return c.printDone(r, fmt.Sprintf("one master key is active; %d are retired. Keep the retired keys in the file: they verify unsubscribe links and tracked links. Keep a copy of the old file with backups from before the rotation", r.Retired))
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

func rotationText(r rekey.Rotation) string {
	msg := fmt.Sprintf("%d master keys can decrypt, the new one encrypts; %d values encrypted again, %d left", r.Keys, r.Resealed, r.Left)
	if r.Left > 0 {
		msg += ": the running server has not loaded the new key; send it SIGHUP or restart it with this file, then run mailer master-key list"
	}
	return msg + ". Back up the master key file now"
}

// MasterKeys is the list of master keys.
func MasterKeys(keys []rekey.Key) Table {
	t := Table{Head: []string{"KEY", "STATE", "SEALED"}}
	for _, k := range keys {
		t.Rows = append(t.Rows, Row{Object: k, Cells: []string{k.Fingerprint, k.State, strconv.Itoa(k.Sealed)}})
	}
	return t
}
