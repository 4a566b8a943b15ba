// The names of clients.js, for the check in CI.
/** The day of the data. */
export const updated: string;
/** [name, platform]. */
export const clients: [string, string][];
/** [title, kind of what is looked at, pattern, a letter for each client]. */
export const features: [string, string, string, string][];
