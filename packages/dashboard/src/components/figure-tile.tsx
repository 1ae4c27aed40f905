import classes from './figure-tile.module.css'

interface FigureTileProps {
  readonly label: string
  readonly value: string
  /** The value in full, where it is shortened. */
  readonly whole?: string
  readonly note?: string
}

/** One number of a screen, within a list of them. */
export const FigureTile = ({ label, value, whole, note }: FigureTileProps) => (
  <div className={classes.tile}>
    <dt className={classes.label}>{label}</dt>
    <dd className={classes.value}>
      <span title={whole}>{value}</span>
      <span className={classes.note}>{note}</span>
    </dd>
  </div>
)
