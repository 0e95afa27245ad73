// The button of the story, with the number of its marks. The list behind it is loaded when it is first shown.

import type { JSX } from "preact";
import { deferred } from "../controls/deferred";
import { BookmarkIcon } from "../controls/icons";
import { Popover } from "../controls/popover";
import type { StoryProps } from "./story_list";

export const StoryList = deferred<StoryProps>("The story", () => import("./story_list").then((loaded) => loaded.StoryList));
export const SaveStory = deferred<Pick<StoryProps, "store">>("The story", () => import("./save_story").then((loaded) => loaded.SaveStory));

export function StoryButton(props: StoryProps): JSX.Element {
  const { marks, open } = props.store.story;
  const count = marks.value.length;
  const label = (
    <>
      <BookmarkIcon />
      {count > 0 && <span class="count">{count}</span>}
    </>
  );
  const title = `Story: ${count === 0 ? "no marks yet" : count === 1 ? "1 mark" : `${count} marks`} (M marks this view)`;
  return (
    <Popover id="story" label={label} look="icon story-button" title={title} open={open.value} setOpen={(now) => (open.value = now)}>
      <StoryList {...props} />
    </Popover>
  );
}
