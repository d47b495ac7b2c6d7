"""The Learn page: what was learned of each subtask, its episodes, trainings, and edits of its reward."""

import re
from typing import Any

import pytest
from browser.bare_page import BareStudio, Mount
from browser.watched_page import expect_texts, press_buttons, wait_until
from playwright.sync_api import Locator, Page, expect


def subtask(name: str, **more: Any) -> dict[str, Any]:
    known = {
        "name": name, "title": name.title(), "source": "rules", "instruction": f"{name} it", "start": "home",
        "success": ["it is near", "it is held"], "can_edit": True, "learned": False, "steps": 0, "seconds": 0,
        "reward": [{"text": "Distance", "weight": 1.5}, {"text": "Contact", "weight": 0.5, "code": "def"}],
        "addable_terms": [{"row": {"term": "still"}, "text": "Stand still"}], "addable_goals": [],
        "validation": None, "tuned": None, "measured": None, "curve": [], "checkpoints": [], "shortcut": None,
        "failures": [], "proposal": None,
    }  # fmt: skip
    return known | more


CLONED = {"steps": 0, "success": 0.25, "cloned": 12, "return": 1, "terms": [0.5, 0.5]}
POINT = {"steps": 4096, "success": 0.75, "return": 2, "terms": [1, 1]}
REACH = subtask(
    "reach", learned=True, validation=0.75, measured={"success": 0.97, "layouts": 64}, checkpoints=[0, 4096],
    curve=[CLONED, POINT], failures=[{"layout": 9, "time": 2.5, "text": "it slips"}],
    shortcut={"text": "It pushes.", "advice": "Ask for a grasp.", "layout": 5, "time": 0.4, "can_fix": True},
    tuned={"steps": 8192, "before": 0.5, "after": 0.8, "layouts": 32},
)  # fmt: skip
SKILLED = CLONED | {"cloned": 0, "skill": "lift cube"}
LIFT = subtask("lift", learned=True, validation=0.4, curve=[SKILLED], checkpoints=[0])
PLACE = subtask("place", success=["it lies"], reward=[{"text": "Distance", "weight": 1.0}])


class Learn:
    def __init__(self, mount: Mount, studio: BareStudio, page: Page):
        self.page, self.element = page, page.locator(".learn")
        self.record = {
            "install": "", "task": "put it left", "fault": "", "preparing": False, "subtasks": [REACH, LIFT, PLACE],
            "chain": {"success": 0.5, "layouts": 64}, "whole": None, "variants": {"success": 0.25, "layouts": 16},
            "job": None, "ablation": None, "asks": True,
        }  # fmt: skip
        self.view = studio.views.open("<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>")
        self.mounted = mount("", "top-bar", "learn")
        kinds = ("status", "train", "evaluate", "ablation", "edit", "fix", "reflect", "take")
        episodes = [{"layout": 3, "success": True}, {"layout": 4, "success": False}]
        answers = {"episodes": {"episodes": episodes}, "play": self._play}
        self.asked = self.mounted.answer("learn", answers | dict.fromkeys(kinds, lambda _: self.record))
        bar = {"ready": True, "services": [], "project": "stack", "title": "Stack"}
        self.mounted.set_value("top-bar", bar)
        self.set_value()
        page.get_by_role("button", name="Learn").click()
        expect(self.element).to_be_visible()

    def set_value(self, **more: Any) -> None:
        self.mounted.set_value("learn", {"project": "token", "may_work": True, "decided": 0} | more)

    def _play(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"view": self.view, "layout": request["layout"], "success": request["layout"] != 4, "reward": 1.25,
                "times": [0, 1], "terms": [{"text": "Distance", "values": [0, 1]}], "misses": [0.1, 0.0],
                "failed_at": None, "is_oracle": request["oracle"]}  # fmt: skip

    def requests(self, count: int) -> list[dict[str, Any]]:
        wait_until(self.page, lambda: sum(one["kind"] != "status" for one in self.asked) >= count)
        taken = [{key: one[key] for key in one if key != "token"} for one in self.asked if one["kind"] != "status"]
        self.asked.clear()
        return taken

    def button(self, name: str) -> Locator:
        return self.element.get_by_role("button", name=name, exact=True)


@pytest.fixture
def learn(mount: Mount, studio: BareStudio, page: Page) -> Learn:
    return Learn(mount, studio, page)


def test_each_subtask_says_how_well_it_was_learned_and_its_first_episode_plays(learn: Learn):
    page = learn.page
    summary = "put it left Chain: 50 % of 64 unseen layouts. On unseen variants: 25 % of 16."
    states = ["! shortcut · ✓ 97 % of 64 · demonstrated", "◔ 40 % in training · from a skill", "○ not learned"]
    expect_texts(learn.element, {".summary": summary, ".card .status": states})
    of = {"subtask": "reach", "steps": None}
    play = {"kind": "play", "layout": 3, "time": 0, "oracle": False}
    assert learn.requests(2) == [of | {"kind": "episodes"}, of | play]
    caption = learn.element.locator("figcaption")
    expect(caption).to_contain_text("Layout 3 · ✓ solved · return 1.25")
    expect(page.frame_locator(".learn iframe").locator("body")).to_have_attribute("data-state", "showing")
    expect(learn.button("Policy")).to_have_attribute("aria-pressed", "true")
    learn.button("Oracle").click()
    expect(learn.button("Oracle")).to_have_attribute("aria-pressed", "true")
    learn.element.get_by_label("Play layout 4: not solved").click()
    expect(caption).to_contain_text("Layout 4 · ✗ not solved")
    expect(learn.element.locator(".episode.on")).to_have_text("✗")
    press_buttons(learn.element, "2.5 s · it slips", "▶ Show")  # the shortcut, from a second before
    plays = [(one["layout"], one["time"], one["oracle"]) for one in learn.requests(6) if one["kind"] == "play"]
    assert plays == [(3, 0, True), (4, 0, False), (9, 1.5, False), (5, 0, False)]
    menu = learn.element.get_by_label("Checkpoint")
    checkpoints = ["Evaluation, best policy", "After 4,096 steps", "After imitating the oracle"]
    expect(menu.locator("option")).to_have_text(checkpoints)
    menu.select_option("4096")
    assert learn.requests(1) == [{"kind": "episodes", "subtask": "reach", "steps": 4096}]
    page.wait_for_function("document.querySelector('.learn .js-plotly-plot')?.data?.length === 4")
    page.evaluate("document.querySelector('.learn .js-plotly-plot').emit('plotly_click', { points: [{ x: 0 }] })")
    assert [one["steps"] for one in learn.requests(2)] == [0, 0]
    plotted = page.evaluate("document.querySelector('.learn .js-plotly-plot').data.map(({ name, y }) => [name, y])")
    assert plotted[:2] == [["Success", [25, 75]], ["Return", [1, 2]]]
    curves = "[...document.querySelectorAll('.learn .js-plotly-plot')].flatMap(({ data }) => data.map(({ y }) => y))"
    page.wait_for_function(f"{curves}.some((y) => y[0] === 10 && y[1] === 0)")  # the goal's miss in centimetres
    tuned = "8,192 steps from where the former subtask ends: 50 % to 80 %"
    expect(learn.element.locator(".stage")).to_contain_text(tuned)
    learn.element.locator("[data-subtask=lift]").click()
    expect(learn.element.locator(".failures")).to_contain_text("Not evaluated yet.")
    assert [one["subtask"] for one in learn.requests(2)] == ["lift", "lift"]
    learn.element.locator("[data-subtask=place]").click()
    expect(learn.element.locator(".empty")).to_contain_text("Not learned yet.")
    page.keyboard.press("Escape")
    expect(learn.element).to_be_hidden()


def test_trainings_are_started_with_what_a_person_set_and_followed_until_they_end(learn: Learn):
    expect(learn.button("Train one policy for all")).to_be_disabled()  # some subtask is not learned
    learn.element.get_by_label("Most steps").fill("8192")
    learn.element.get_by_label("Variants").fill("4")
    learn.requests(2)
    learn.button("Train this subtask").click()
    learn.element.get_by_label("Start from skills").check()
    learn.button("Train all").click()
    setting = {"kind": "train", "steps": 8192, "variants": 4}
    one = setting | {"demonstrations": 40, "skills": False, "subtask": "reach"}
    assert learn.requests(2) == [one, setting | {"demonstrations": 0, "skills": True}]
    learn.record["subtasks"] = [REACH, LIFT]
    learn.mounted.tell_job("training")
    press_buttons(learn.element, "Train one policy for all", "Evaluate", "Ablation")
    kinds = [(one["kind"], one.get("subtask")) for one in learn.requests(3)]
    assert kinds == [("train", "whole"), ("evaluate", None), ("ablation", None)]
    job = {"id": "7", "kind": "train", "state": "running", "message": "", "subtask": "reach", "steps": 1024,
           "limit": 8192, "left": 100, "imitated": 0, "finished": False, "doing": ""}  # fmt: skip

    def tell(**more: str) -> None:
        learn.record["job"] = job | more
        learn.mounted.tell_job("training")

    tell()
    progress = "Reach: 1,024 of at most 8,192 steps · at most 2 min left"
    expect(learn.element.locator(".progress-text")).to_have_text(progress)
    expect(learn.element.locator("[data-subtask=reach] .status")).to_contain_text("◐ learning")
    expect(learn.element.locator(".weight").first).to_be_disabled()
    learn.mounted.take_sent()
    learn.button("■ Stop").click()
    learn.asked.clear()
    tell(state="done")
    expect(learn.button("Train all")).to_be_enabled()
    wait_until(learn.page, lambda: "play" in [one["kind"] for one in learn.asked])  # what was learned
    tell(state="failed", message="No memory is left.")
    expect(learn.element.locator(".fault")).to_have_text("No memory is left.")
    tell(state="stopped")
    expect(learn.element).to_contain_text("Stopped; what was learned is kept.")
    states = [
        ({"state": "waiting"}, "Waiting for another training"),
        ({"kind": "ablation", "message": "seed 2"}, "seed 2"),
        ({"doing": "measure"}, "Playing the policies on unseen layouts"),
        ({"kind": "reflect", "doing": "reflect"}, "Reach: asking the model for a better reward"),
        ({"finished": True}, "Reach: learned; playing it to see where the next one begins"),
        ({"steps": 0, "imitated": 7}, "Reach: imitates the oracle, 7 demonstrations and corrections so far"),
        ({"steps": 0}, "Reach: drawing layouts to begin from"),
        ({"steps": 0, "subtask": ""}, "Starting"),
    ]
    say = "async (job) => (await import('/static/learn/progress.js')).progressText(job, 'Reach')"
    assert [learn.page.evaluate(say, job | more) for more, _ in states] == [text for _, text in states]


def test_a_reward_is_edited_by_who_may_work(learn: Learn):
    reward = learn.element.locator(".reward")
    expect(reward.locator(".text")).to_have_text(["it is near", "it is held", "Distance", "Contact"])
    learn.requests(2)
    reward.get_by_label("Weight of Contact").fill("0.75")
    reward.get_by_label("Weight of Contact").press("Enter")
    press_buttons(reward, "Delete: Distance", "Delete: it is held")
    reward.get_by_label("Add a term", exact=True).select_option(label="Stand still")
    reward.get_by_text("Code", exact=True).click()
    reward.get_by_label("Code", exact=True).fill("def compute_reward(env): return 1.0")
    reward.get_by_label("Code", exact=True).locator("+ button").click()
    learn.button("Make this change").click()
    edits: list[dict[str, Any]] = [{"change": "weight", "index": 1, "weight": 0.75}]
    edits += [{"change": "remove_term", "index": 0}, {"change": "remove_goal", "index": 1}]
    edits += [{"change": "add_term", "row": {"term": "still"}}]
    edits += [{"change": "code", "index": 1, "source": "def compute_reward(env): return 1.0"}]
    wanted = [{"kind": "edit", "subtask": "reach"} | one for one in edits]
    assert learn.requests(6) == [*wanted, {"kind": "fix", "subtask": "reach"}]
    reward.get_by_label("Planned by the oracle, not learned").check()
    assert learn.requests(1) == [{"kind": "edit", "subtask": "reach", "change": "way", "way": "plan"}]
    wait_until(learn.page, lambda: [name for name, _ in learn.mounted.sent] == ["changed"] * 7)
    learn.record["subtasks"] = [PLACE]
    learn.mounted.tell_job("training")
    expect(reward.get_by_label("Delete: it lies")).to_be_disabled()  # the last one stays
    learn.set_value(may_work=False)
    learn.record |= {"subtasks": [REACH], "preparing": True, "fault": "No layout can be drawn."}
    learn.mounted.tell_job("training")
    expect(reward.get_by_label("Weight of Contact")).to_be_disabled()
    expect(learn.button("Train all")).to_be_disabled()
    expect(learn.element.locator(".state")).to_contain_text("Splitting the task into subtasks")
    expect(learn.element.locator(".fault")).to_have_text("No layout can be drawn.")
    learn.record |= {"ablation": {"rows": [{"title": "Full", "success": 0.5, "low": 0.25, "high": 0.75}]}}
    learn.record |= {"subtasks": [REACH | {"failures": []}], "install": "pip install it"}
    learn.mounted.tell_job("training")
    expect(learn.element.locator(".ablation .js-plotly-plot")).to_be_visible()
    expect(learn.element.locator(".fault")).to_have_text("Training needs extra packages: pip install it")
    learn.set_value(project="")
    expect(learn.element).to_be_hidden()


def test_a_model_is_asked_for_a_better_reward_which_a_person_takes(learn: Learn):
    learn.requests(2)
    learn.button("Ask for a better reward").click()
    assert learn.requests(1) == [{"kind": "reflect", "subtask": "reach"}]
    terms = [{"text": "Nearness", "weight": 2.0, "code": ""}, {"text": "Height", "weight": 0.5, "code": "def f(env):"}]
    proposal = {"model": "gpt-x", "reason": "It hovered.", "reward": terms}
    learn.record["subtasks"] = [REACH | {"proposal": proposal, "shortcut": None}, PLACE]
    learn.mounted.tell_job("training")
    stage = learn.element.locator(".stage")
    expect(stage).to_contain_text("gpt-x proposes another reward: It hovered.")
    expect(stage.locator(".shortcut li")).to_have_text(["Nearness × 2", re.compile("Height × 0.5.*def f", re.S)])
    learn.requests(0)
    stage.get_by_role("button", name="Make this change").click()
    wait_until(learn.page, lambda: {"take": "reach"} in [{one["kind"]: one.get("subtask")} for one in learn.asked])
    wait_until(learn.page, lambda: [name for name, _ in learn.mounted.sent] == ["changed"])  # which Undo names
    learn.element.locator("[data-subtask=place]").click()
    expect(learn.button("Ask for a better reward")).to_be_disabled()  # it was not trained
    learn.element.locator("[data-subtask=reach]").click()
    expect(learn.button("Ask for a better reward")).to_be_enabled()
    learn.record["asks"] = False
    learn.mounted.tell_job("training")
    expect(learn.button("Ask for a better reward")).to_have_attribute("title", re.compile("choose a model"))
    expect(learn.button("Ask for a better reward")).to_be_disabled()
