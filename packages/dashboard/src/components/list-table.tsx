import { Button, Skeleton, VisuallyHidden } from '@mantine/core'
import { Fragment, type ReactNode, useEffect, useRef, useState } from 'react'
import { Empty } from './empty.tsx'
import classes from './list-table.module.css'
import { isRefused, Offline, Refused } from './loaded.tsx'
import { useRowBoxes } from './row-boxes.tsx'
import type { Selection } from './selection.ts'
import { nextSorting, type Sorting, type SortValue, sortRows } from './sorting.ts'
import { Trouble } from './trouble.tsx'
import type { List } from './use-list.ts'

export interface Column<Item> {
  readonly header: string
  readonly cell: (item: Item) => ReactNode
  /** Numbers stand at the end of their column. */
  readonly isNumber?: boolean
  /** A cell of two lines, whose skeleton is as high. */
  readonly isTall?: boolean
  /** The column is left out below this width; the row's own page has its value. */
  readonly from?: 'sm' | 'md' | 'lg' | 'xl'
  /** Sorts by this value, once every row is loaded: a part of the rows is never sorted as if it were all. */
  readonly sortBy?: (item: Item) => SortValue
}

interface ListTableProps<Item> {
  /** Names the table: "Keys". */
  readonly label: string
  readonly list: List<Item>
  readonly idOf: (item: Item) => string
  readonly columns: readonly Column<Item>[]
  /** Nothing exists yet: what to type to change that. */
  readonly empty: ReactNode
  /** Set while a filter is active. */
  readonly onClearFilters?: (() => void) | undefined
  /** What a person can do with a row: a `RowMenu`. */
  readonly menu?: ((item: Item) => ReactNode) | undefined
  /** Lets a person select rows. */
  readonly selection?: (Selection & { readonly nameOf: (item: Item) => string }) | undefined
  /** What an open row shows below itself; null while it is closed. */
  readonly detail?: (item: Item) => ReactNode
  /** Loads the next page when the person reaches the end. */
  readonly isEndless?: boolean
  /** Stands at the end in place of the next page, where another screen has all rows. */
  readonly more?: ReactNode
  /** How many rows of skeletons stand there while the list loads. Where content follows below: about as many as will come. */
  readonly rowsWaiting?: number
}

/** A list in each of its states. A screen describes its columns and what to type when the list is empty. */
export function ListTable<Item>(props: ListTableProps<Item>) {
  const { list, columns, empty, onClearFilters } = props
  const [sorting, setSorting] = useState<Sorting>(null)
  const retry = () => void list.refetch()
  if (list.data === undefined) {
    if (list.fetchStatus === 'paused') return <Offline onRetry={retry} />
    if (list.error === null) return <Frame {...props} rows={null} />
    return isRefused(list.error) ? (
      <Refused error={list.error} />
    ) : (
      <Trouble error={list.error} onRetry={retry} />
    )
  }
  const rows = list.data.pages.flatMap(({ data }) => data)
  if (rows.length === 0 && onClearFilters !== undefined) {
    return (
      <Empty title="No match">
        <p>Nothing matches these filters.</p>
        <Button variant="default" onClick={onClearFilters}>
          Clear filters
        </Button>
      </Empty>
    )
  }
  if (rows.length === 0) return empty
  const loadMore = () => void list.fetchNextPage()
  const sorted = columns.find(({ header }) => header === sorting?.header)?.sortBy
  const isSorted = !list.hasNextPage && sorting !== null && sorted !== undefined
  return (
    <>
      <Frame
        {...props}
        rows={isSorted ? sortRows(rows, sorted, sorting.isFalling) : rows}
        sorting={isSorted ? sorting : null}
        onSort={list.hasNextPage ? undefined : header => setSorting(nextSorting(sorting, header))}
      />
      {list.error === null ? null : (
        <Trouble error={list.error} onRetry={list.isFetchNextPageError ? loadMore : retry} />
      )}
      {props.more !== undefined ? (
        <div className={classes.more}>{props.more}</div>
      ) : list.hasNextPage && list.error === null ? (
        <More
          isEndless={props.isEndless ?? false}
          isBusy={list.isFetchingNextPage}
          isSortable={columns.some(({ sortBy }) => sortBy !== undefined)}
          onMore={loadMore}
        />
      ) : null}
    </>
  )
}

interface MoreProps {
  readonly isEndless: boolean
  readonly isBusy: boolean
  /** The columns sort once every row is loaded. */
  readonly isSortable: boolean
  readonly onMore: () => void
}

function More({ isEndless, isBusy, isSortable, onMore }: MoreProps) {
  const end = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!isEndless || isBusy || end.current === null) return
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && onMore())
    observer.observe(end.current)
    return () => observer.disconnect()
  }, [isEndless, isBusy, onMore])
  return (
    <div className={classes.more} ref={end}>
      <Button variant="default" loading={isBusy} onClick={onMore}>
        Load more
      </Button>
      {isSortable ? (
        <p className={classes.hint}>Newest first. Columns sort once all rows are loaded.</p>
      ) : null}
    </div>
  )
}

/** Widths of skeletons in pixels, near those of the values to come, so that the columns keep their widths. */
const widthsWaiting = { first: 168, other: 72 }

interface FrameProps<Item> extends ListTableProps<Item> {
  /** Null while the rows load. */
  readonly rows: readonly Item[] | null
  readonly sorting?: Sorting
  /** Undefined: there are more rows than these, which the service has sorted. */
  readonly onSort?: ((header: string) => void) | undefined
}

function Frame<Item>({
  label,
  columns,
  idOf,
  menu,
  selection,
  detail,
  rowsWaiting = 8,
  rows,
  sorting = null,
  onSort,
}: FrameProps<Item>) {
  const waiting = Array.from({ length: rowsWaiting }, (_, at) => `waiting-${at}`)
  const boxes = useRowBoxes((rows ?? []).map(idOf), selection)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls a wide table.
    <section className={classes.frame} aria-label={label} aria-busy={rows === null} tabIndex={0}>
      <table className={classes.table}>
        <thead>
          <tr>
            {boxes === null ? null : (
              <th scope="col" className={classes.box}>
                {boxes.head}
              </th>
            )}
            {columns.map(column => (
              <Heading key={column.header} of={column} sorting={sorting} onSort={onSort} />
            ))}
            {menu === undefined ? null : (
              <th scope="col">
                <VisuallyHidden>Actions</VisuallyHidden>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {rows === null
            ? waiting.map(id => (
                <tr key={id}>
                  {boxes === null ? null : <td className={classes.box} />}
                  {columns.map((column, at) => (
                    <td key={column.header} className={classOf(column)}>
                      <Skeleton
                        h={14}
                        my={column.isTall ? 12 : 5}
                        w={at === 0 ? widthsWaiting.first : widthsWaiting.other}
                      />
                    </td>
                  ))}
                  {menu === undefined ? null : <td className={classes.menu} />}
                </tr>
              ))
            : rows.map(row => {
                const below = detail?.(row) ?? null
                return (
                  <Fragment key={idOf(row)}>
                    <tr {...(selection?.ids.has(idOf(row)) && { className: classes.selected })}>
                      {boxes === null ? null : (
                        <td className={classes.box}>{boxes.row(idOf(row), selection?.nameOf(row) ?? '')}</td>
                      )}
                      {columns.map(column => (
                        <td key={column.header} className={classOf(column)}>
                          {column.cell(row)}
                        </td>
                      ))}
                      {menu === undefined ? null : <td className={classes.menu}>{menu(row)}</td>}
                    </tr>
                    {below === null ? null : (
                      <tr className={classes.detail}>
                        <td colSpan={columns.length}>{below}</td>
                      </tr>
                    )}
                  </Fragment>
                )
              })}
        </tbody>
      </table>
    </section>
  )
}

interface HeadingProps<Item> extends Pick<FrameProps<Item>, 'onSort'> {
  readonly of: Column<Item>
  readonly sorting: Sorting
}

function Heading<Item>({ of: column, sorting, onSort }: HeadingProps<Item>) {
  const { header, sortBy } = column
  const order = sorting?.header !== header ? undefined : sorting.isFalling ? 'descending' : 'ascending'
  return (
    <th scope="col" className={classOf(column)} {...(order && { 'aria-sort': order })}>
      {sortBy === undefined || onSort === undefined ? (
        header
      ) : (
        <button
          type="button"
          className={classes.sort}
          title={`Sort by ${header}`}
          onClick={() => onSort(header)}
        >
          {header}
        </button>
      )}
    </th>
  )
}

const classOf = <Item,>({ from, isNumber }: Column<Item>) =>
  [from && classes[from], isNumber && classes.number].filter(Boolean).join(' ')
