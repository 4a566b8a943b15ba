package audience

import (
	"context"
	"io"

	"golang.org/x/sync/semaphore"

	"mailer/app/importing"
)

// What the tests of this package from outside reach into it for.

const (
	ImportPiece   = importPiece
	ImportRows    = importRows
	ImportStrikes = importStrikes
	ImportYield   = importYield
	MaxScans      = maxScans
)

var ErrErasing = errErasing

func (s *Service) Scans() *semaphore.Weighted { return s.scans }

func (s *Imports) ImportFile(ctx context.Context, id string) io.Reader { return s.importFile(ctx, id) }

func (s *Imports) RunImports(ctx context.Context) { s.runImports(ctx) }

type ImportRun = importRun

// NewImportRun is the work on an import, whose rows are to be set.
func NewImportRun(s *Imports, i importing.Import) *importRun { return &importRun{s: s, i: i} }

func (run *importRun) S() *Imports { return run.s }

func (run *importRun) I() *importing.Import { return &run.i }

// Open sets the rows of the file to be read.
func (run *importRun) Open(ctx context.Context) (err error) {
	run.rows, _, err = importing.Read(run.s.importFile(ctx, run.i.ID))
	return err
}

func (run *importRun) Skip(n int) error { return run.skip(n) }

func (run *importRun) Read() (batch importBatch, err error) { return run.read() }

func (run *importRun) Write(ctx context.Context, batch importBatch) error {
	return run.write(ctx, batch)
}
