/** What keeps Carillon from starting and what the user can put right: only its text is shown. */
export class StartError extends Error {}
