// What a campaign's ad shows: a list of its creatives with their pictures, and the form for another one, which shows it as
// players will see it.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Answer, type Body, call, every } from '../api';
import { bytes_of } from '../components/fields';
import { Confirm, type FieldOf, FormDialog, useDraft } from '../components/form';
import { Read } from '../components/table';
import { Button, Card, Time } from '../components/ui';
import { useReading } from '../components/use';
import type { App } from '../data';
import { number } from '../format';
import { t } from '../messages';

type Campaign = Answer<'get', '/api/external/campaigns'>['campaigns'][number];
type Creative = Answer<'get', '/api/external/campaigns/{id}/creatives'>['creatives'][number];
type Creation = Body<'post', '/api/external/campaigns/{id}/creatives'>;

const most = 10; // of a campaign
const fields: FieldOf<Creation>[] = [
  { name: 'title', label: t.creatives.title, most: 80, required: true },
  { name: 'text', label: t.creatives.text, most: 300, hint: t.creatives.text_hint },
  { name: 'link', label: t.creatives.link, required: true, hint: t.creatives.link_hint },
  { name: 'image', kind: 'picture', label: t.creatives.image, hint: t.creatives.image_hint },
];

// Draws a picture that was chosen and isn't at berth yet; the content security policy loads none but berth's.
function Chosen({ image }: { image: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [readable, set_readable] = useState(true);
  useEffect(() => {
    let current = true;
    createImageBitmap(new Blob([bytes_of(image)])).then(
      (bitmap) => {
        if (!current || !canvas.current) return;
        canvas.current.width = bitmap.width;
        canvas.current.height = bitmap.height;
        canvas.current.getContext('2d')!.drawImage(bitmap, 0, 0);
        set_readable(true);
      },
      () => current && set_readable(false),
    );
    return () => {
      current = false;
    };
  }, [image]);
  return (
    <>
      <canvas ref={canvas} role="img" aria-label={t.creatives.preview} hidden={!readable} />
      {!readable && <p class="wrong">{t.creatives.unreadable}</p>}
    </>
  );
}

function Preview({
  title,
  text,
  link,
  children,
}: {
  title: string;
  text: string;
  link: string;
  children?: ComponentChildren;
}) {
  const host = URL.canParse(link) ? new URL(link).host : '';
  return (
    <div class="ad">
      {children}
      <div class="stack tight">
        <strong>{title || t.creatives.title}</strong>
        {text && <span class="soft">{text}</span>}
        <span class="small faint">{host}</span>
      </div>
    </div>
  );
}

export function Creatives({ app, campaign, again }: { app: App; campaign: Campaign; again: () => void }) {
  const path = { id: campaign.id };
  const live = campaign.status === 'active' || campaign.status === 'paused';
  const [asking, ask] = useState<'add' | Creative | null>(null);
  const draft = useDraft();
  const list = useReading(
    () =>
      every((page) => call('get', '/api/external/campaigns/{id}/creatives', { app: app.id, path, query: page })).then(
        (pages) => pages.flatMap((page) => page.creatives),
      ),
    [campaign.id],
  );
  const changed = () => {
    list.again();
    again();
  };
  const typed = (name: keyof Creation) => String(draft[0][name] ?? '');
  const button = live && (
    <Button slim icon="plus" disabled={campaign.creatives >= most} onClick={() => ask('add')}>
      {t.creatives.add}
    </Button>
  );
  return (
    <Card title={t.creatives.heading} bare actions={button}>
      <Read of={list}>
        {(value) =>
          value.length === 0 ? (
            <p class="body soft">{live ? t.creatives.none : t.creatives.gone}</p>
          ) : (
            <ul class="list">
              {value.map((one) => (
                <li key={one.id}>
                  <div class="grow">
                    <Preview title={one.title} text={one.text ?? ''} link={one.link}>
                      {one.image_url && (
                        <img
                          src={new URL(one.image_url).pathname}
                          width={one.image_width!}
                          height={one.image_height!}
                          alt={one.title}
                          loading="lazy"
                        />
                      )}
                    </Preview>
                    <p class="small faint">
                      <a href={one.link} target="_blank" rel="noreferrer">
                        {one.link}
                      </a>{' '}
                      · {t.creatives.shown(number(one.impressions), number(one.clicks))} · <Time at={one.inserted_at} />
                    </p>
                  </div>
                  {live && (
                    <Button slim icon="trash" label={t.creatives.remove_of(one.title)} onClick={() => ask(one)} />
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Read>
      {asking === 'add' && (
        <FormDialog
          title={t.creatives.add}
          action={t.creatives.add}
          acting={t.creatives.adding}
          fields={fields}
          draft={draft}
          onClose={() => ask(null)}
          run={async (body) => {
            await call('post', '/api/external/campaigns/{id}/creatives', { app: app.id, path, body });
            draft[1]({});
            changed();
          }}>
          <Preview title={typed('title')} text={typed('text')} link={typed('link')}>
            {typed('image') && <Chosen image={typed('image')} />}
          </Preview>
        </FormDialog>
      )}
      {asking && asking !== 'add' && (
        <Confirm
          title={t.creatives.remove_of(asking.title)}
          action={t.creatives.remove}
          danger
          onClose={() => ask(null)}
          run={async () => {
            await call('delete', '/api/external/campaigns/{id}/creatives/{creative_id}', {
              app: app.id,
              path: { ...path, creative_id: asking.id },
            });
            changed();
          }}>
          <p>{t.creatives.remove_text}</p>
        </Confirm>
      )}
    </Card>
  );
}
