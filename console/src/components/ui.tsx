// The parts that all screens are made of.
import { signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { ApiError } from '../api';
import { exact, relative } from '../format';
import { t } from '../messages';
import { HelpLink } from './help';
import { Icon, type IconName } from './icons';
import { note } from './notes';
import { useAnchor } from './use';

type Kind = 'main-action' | 'danger' | 'plain';
export const classes = (...names: (string | false | undefined)[]) => names.filter(Boolean).join(' ');

interface ButtonProps extends Omit<JSX.HTMLAttributes<HTMLButtonElement>, 'icon'> {
  kinds?: Kind[];
  icon?: IconName;
  slim?: boolean;
  busy?: boolean;
  type?: 'button' | 'submit';
  disabled?: boolean;
  label?: string; // for a button that shows nothing but its icon
}
export function Button({
  kinds = [],
  icon,
  slim,
  busy,
  label,
  children,
  type = 'button',
  onClick,
  ...rest
}: ButtonProps) {
  return (
    <button
      type={type}
      {...rest}
      onClick={busy ? undefined : onClick}
      aria-disabled={busy || undefined}
      aria-label={label ?? rest['aria-label']}
      title={label}
      class={classes('button', ...kinds, slim && 'slim', !!label && 'icon')}>
      {icon && <Icon name={icon} size={slim ? 16 : 18} />}
      {children}
    </button>
  );
}

// Buttons of which one is pressed: which part, or which form, of what stands below is shown. `children` are further ones.
export function Choices<Choice extends string | number | boolean>({
  label,
  of,
  chosen,
  choose,
  name,
  children,
}: {
  label: string;
  of: readonly Choice[];
  chosen: Choice;
  choose: (one: Choice) => void;
  name: (one: Choice) => string;
  children?: ComponentChildren;
}) {
  return (
    <div class="row tight" role="group" aria-label={label}>
      {of.map((one) => (
        <button
          key={String(one)}
          type="button"
          class="button slim"
          aria-pressed={one === chosen}
          onClick={() => choose(one)}>
          {name(one)}
        </button>
      ))}
      {children}
    </div>
  );
}

export function LinkButton({
  href,
  kinds = [],
  icon,
  slim,
  children,
}: {
  href: string;
  kinds?: Kind[];
  icon?: IconName;
  slim?: boolean;
  children: ComponentChildren;
}) {
  return (
    <Link href={href} class={classes('button', ...kinds, slim && 'slim')}>
      {icon && <Icon name={icon} size={slim ? 16 : 18} />}
      {children}
    </Link>
  );
}

// A screen: its heading gets the focus when the screen is opened, so that a screen reader announces the screen.
export function Page({
  title,
  part,
  crumbs,
  badge,
  below,
  actions,
  narrow,
  children,
}: {
  title: string;
  part?: string; // of the screen that is shown, such as a tab; stands in the window's title
  crumbs?: [string, string][];
  badge?: ComponentChildren;
  below?: ComponentChildren;
  actions?: ComponentChildren;
  narrow?: boolean;
  children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = [part, title, crumbs?.at(-1)?.[0], 'berth'].filter(Boolean).join(' · ');
  }, [part, title]);
  useEffect(() => {
    if (document.activeElement === document.body || document.activeElement?.closest('.side'))
      heading.current?.focus({ preventScroll: true });
    if (!document.getElementById(location.hash.slice(1))) scrollTo(0, 0);
  }, []);
  return (
    <div class={classes('page', narrow && 'narrow')}>
      <div class="head">
        <div class="title">
          {crumbs && (
            <nav class="crumbs" aria-label={t.frame.path}>
              {crumbs.map(([name, href]) => (
                <span key={href}>
                  <Link href={href}>{name}</Link> <span aria-hidden="true">/</span>
                </span>
              ))}
            </nav>
          )}
          <div class="row tight">
            <h1 ref={heading} tabIndex={-1}>
              {title}
            </h1>
            {badge}
          </div>
          {below}
        </div>
        <div class="row tight actions">
          <HelpLink />
          {actions}
        </div>
      </div>
      {children}
    </div>
  );
}

export function Card({
  title,
  actions,
  children,
  footer,
  bare,
  anchor,
  level: Level = 'h2',
}: {
  title?: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
  footer?: ComponentChildren;
  bare?: boolean;
  anchor?: string; // a name that links to the card end with, behind #
  level?: 'h2' | 'h3';
}) {
  const id = useId();
  const section = useAnchor<HTMLElement>(anchor);
  return (
    <section
      class="card"
      aria-labelledby={title ? id : undefined}
      ref={section}
      id={anchor}
      tabIndex={anchor ? -1 : undefined}>
      {title && (
        <header>
          <Level id={id}>{title}</Level>
          {actions}
        </header>
      )}
      {bare ? children : <div class="body">{children}</div>}
      {footer && <footer>{footer}</footer>}
    </section>
  );
}

export function Empty({
  icon,
  title,
  text,
  children,
}: {
  icon: IconName;
  title: string;
  text: string;
  children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <span class="picture">
        <Icon name={icon} size={28} />
      </span>
      <h2>{title}</h2>
      <p>{text}</p>
      {children && <div class="row tight">{children}</div>}
    </div>
  );
}

export function Banner({
  kind,
  title,
  children,
  role,
}: {
  kind: 'bad' | 'warn' | 'info';
  title?: string;
  children?: ComponentChildren;
  role?: 'alert' | 'status';
}) {
  return (
    <div class={`banner ${kind}`} role={role}>
      <Icon name={kind === 'info' ? 'info' : 'alert'} size={20} />
      <div class="text">
        {title && <h2>{title}</h2>}
        {children}
      </div>
    </div>
  );
}

// One clock for all times on the page.
const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), 30_000);

export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={exact(at)}>
      {relative(at, now.value)}
    </time>
  );
}

export function Bones({ label = t.frame.loading }: { label?: string }) {
  return (
    <div class="bones" role="status" aria-label={label}>
      <span />
      <span />
      <span />
    </div>
  );
}

export function Failed({ error, again }: { error: ApiError; again?: () => void }) {
  return (
    <Banner kind="bad" title={t.errors.heading} role="alert">
      <p>{error.message}</p>
      {again && (
        <div>
          <Button slim onClick={again}>
            {t.frame.again}
          </Button>
        </div>
      )}
    </Banner>
  );
}

export function Copy({
  text,
  label,
  mono = true,
  show,
}: {
  text: string;
  label: string;
  mono?: boolean;
  show?: string;
}) {
  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      note(t.frame.copied(label));
    } catch {
      note(t.frame.not_copied);
    }
  }
  return (
    <span class="copy">
      {show ? <span>{show}</span> : mono ? <code>{text}</code> : <span class="break">{text}</span>}
      <Button slim kinds={['plain']} icon="copy" label={t.frame.copy(label)} onClick={copy} />
    </span>
  );
}

// A dialog over the page; the browser keeps the focus in it and gives it back.
export function Dialog({
  title,
  onClose,
  children,
  closable = true,
  wide,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  closable?: boolean;
  wide?: boolean;
}) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class={wide ? 'wide' : undefined}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (closable) onClose();
      }}>
      <div class="inner">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

const gap = 4; // px between a menu's button and its list

// A button that opens a list of actions.
export function Menu({
  label,
  items,
}: {
  label: string;
  items: { name: string; icon: IconName; danger?: boolean; run: () => void }[];
}) {
  const [open, set_open] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  // Before the next key is handled. The list stands above everything, as what it is in may scroll and cut it off; it
  // goes along when the page scrolls or the window gets another size.
  useLayoutEffect(() => {
    if (!open) return;
    const list = root.current!.querySelector<HTMLElement>('.items')!;
    function place() {
      const { top, bottom, right } = root.current!.getBoundingClientRect();
      if (bottom < 0 || top > innerHeight) return set_open(false);
      const below = bottom + gap + list.offsetHeight <= innerHeight;
      list.style.top = `${below ? bottom + gap : Math.max(gap, top - gap - list.offsetHeight)}px`;
      list.style.right = `${document.documentElement.clientWidth - right}px`;
    }
    place();
    addEventListener('scroll', place, { capture: true, passive: true });
    addEventListener('resize', place);
    root.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus({ preventScroll: true });
    const outside = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) set_open(false);
    };
    addEventListener('pointerdown', outside);
    return () => {
      removeEventListener('pointerdown', outside);
      removeEventListener('scroll', place, { capture: true });
      removeEventListener('resize', place);
    };
  }, [open]);
  function keys(event: KeyboardEvent) {
    const all = [...root.current!.querySelectorAll<HTMLElement>('[role=menuitem]')];
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (event.key === 'Escape') {
      set_open(false);
      root.current?.querySelector<HTMLElement>('[aria-haspopup]')?.focus();
    } else if (event.key === 'ArrowDown') all[(at + 1) % all.length]?.focus();
    else if (event.key === 'ArrowUp') all[(at - 1 + all.length) % all.length]?.focus();
    else if (event.key === 'Tab') set_open(false);
    else return;
    if (event.key !== 'Tab') event.preventDefault();
  }
  return (
    <div class="drop" ref={root} onKeyDown={open ? keys : undefined}>
      <Button icon="more" label={label} aria-haspopup="menu" aria-expanded={open} onClick={() => set_open(!open)} />
      {open && (
        <div class="items" role="menu" aria-label={label}>
          {items.map((item) => (
            <button
              key={item.name}
              type="button"
              role="menuitem"
              tabIndex={-1}
              class={item.danger ? 'danger' : ''}
              onClick={() => {
                set_open(false);
                root.current?.querySelector<HTMLElement>('[aria-haspopup]')?.focus();
                item.run();
              }}>
              <Icon name={item.icon} />
              {item.name}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

export function Tabs({
  label,
  tabs,
  current,
}: {
  label: string;
  tabs: { name: string; href: string; key: string }[];
  current: string;
}) {
  const bar = useRef<HTMLElement>(null);
  useEffect(
    () => bar.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' }),
    [current],
  );
  return (
    <nav class="tabs" aria-label={label} ref={bar}>
      {tabs.map((tab) => (
        <Link key={tab.key} href={tab.href} aria-current={tab.key === current ? 'page' : undefined}>
          {tab.name}
        </Link>
      ))}
    </nav>
  );
}

export function Meter({ value, of, label, warn }: { value: number; of: number; label: string; warn?: boolean }) {
  const share = Math.min(100, Math.max(0, (100 * value) / of));
  return (
    <div
      class={classes('meter', warn && 'warn')}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={of}
      aria-valuenow={Math.min(value, of)}>
      <span style={{ width: `${share}%` }} />
    </div>
  );
}
