import type { ReactNode } from 'react'
import classes from './on-phone.module.css'

/** Shown only where a table is so narrow that it leaves out the column with the same value. */
export const OnPhone = ({ children }: { readonly children: ReactNode }) => (
  <div className={classes.phone}>{children}</div>
)
