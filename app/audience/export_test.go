package audience

import (
	"context"
	"io"

	"golang.org/x/sync/semaphore"

	"mailer/app/importing"
)

// What the tests of this package from outside reach into it for.

func (x *Imports) ImportFile(a0 context.Context, a1 string) io.Reader { return x.importFile(a0, a1) }

func (x *Imports) RunImports(a0 context.Context) { x.runImports(a0) }

func (x *Service) Scans() *semaphore.Weighted { return x.scans }

var ErrErasing = errErasing

const ImportPiece = importPiece

const ImportRows = importRows

type ImportRun = importRun

func (x *importRun) S() *Imports { return x.s }

func (x *importRun) I() *importing.Import { return &x.i }

func (x *importRun) Read() (batch importBatch, err error) { return x.read() }

// Open sets the rows of the file to be read.
func (x *importRun) Open(ctx context.Context) (err error) {
	x.rows, _, err = importing.Read(x.s.importFile(ctx, x.i.ID))
	return err
}

func (x *importRun) Skip(a0 int) error { return x.skip(a0) }

func (x *importRun) Write(a0 context.Context, a1 importBatch) error { return x.write(a0, a1) }

const ImportStrikes = importStrikes

const ImportYield = importYield

const MaxScans = maxScans

// NewImportRun is the work on an import, whose rows are to be set.
func NewImportRun(s *Imports, i importing.Import) *importRun { return &importRun{s: s, i: i} }
