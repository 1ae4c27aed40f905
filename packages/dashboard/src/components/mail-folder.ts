import { isMailInFolder } from '../service-facts.ts'

/** Where a letter is that no mailbox gets, for the person who runs a service without a mail server. */
export const mailFolderNote: string | null = isMailInFolder
  ? 'This service has no mail server: its letters are files in the folder that it writes mail to, by default “mail” in its data directory.'
  : null
