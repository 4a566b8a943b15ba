// What the three programs share: what they are told, and what they tell.

function told(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

export const url = told("MAILER_URL");
export const key = told("MAILER_KEY");
export const from = told("MAILER_FROM");
export const csv = told("MAILER_CSV");
export const event: unknown = JSON.parse(told("MAILER_EVENT"));

export interface Outcome {
  sent: string;
  listed: string[];
  imported: string;
  bounced: string | undefined;
}

export function run(program: () => Promise<Outcome>): void {
  program().then(
    (outcome) => console.log(JSON.stringify(outcome)),
    (err: unknown) => {
      console.error(err);
      process.exitCode = 1;
    },
  );
}
