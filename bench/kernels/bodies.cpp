// SPDX-License-Identifier: MIT
// Drives Box2D: a tumbler full of boxes and a pyramid, for 400 steps or as many as the argument says.
#include <cstdio>
#include <cstdlib>

#include "box2d/box2d.h"

static void make_pyramid(b2World &world, int rows)
{
    b2PolygonShape box;
    box.SetAsBox(0.5f, 0.5f);
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < rows - row; i++) {
            b2BodyDef definition;
            definition.type = b2_dynamicBody;
            definition.position.Set(30.0f + 1.2f * (float)i + 0.6f * (float)row,
                                    0.6f + 1.1f * (float)row);
            world.CreateBody(&definition)->CreateFixture(&box, 5.0f);
        }
}

static void make_tumbler(b2World &world, b2Body *ground)
{
    b2BodyDef definition;
    definition.type = b2_dynamicBody;
    definition.allowSleep = false;
    definition.position.Set(-30.0f, 15.0f);
    b2Body *body = world.CreateBody(&definition);
    b2PolygonShape wall;
    const float walls[4][4] = {{0.5f, 10.0f, 10.0f, 0.0f},
                               {0.5f, 10.0f, -10.0f, 0.0f},
                               {10.0f, 0.5f, 0.0f, 10.0f},
                               {10.0f, 0.5f, 0.0f, -10.0f}};
    for (const float *w : walls) {
        wall.SetAsBox(w[0], w[1], b2Vec2(w[2], w[3]), 0.0f);
        body->CreateFixture(&wall, 5.0f);
    }
    b2RevoluteJointDef joint;
    joint.bodyA = ground;
    joint.bodyB = body;
    joint.localAnchorA.Set(-30.0f, 15.0f);
    joint.localAnchorB.Set(0.0f, 0.0f);
    joint.motorSpeed = 0.15f;
    joint.maxMotorTorque = 1e8f;
    joint.enableMotor = true;
    world.CreateJoint(&joint);
}

static void drop_box(b2World &world, int number)
{
    b2BodyDef definition;
    definition.type = b2_dynamicBody;
    definition.position.Set(-30.0f + 0.3f * (float)(number % 7), 15.0f);
    b2PolygonShape box;
    box.SetAsBox(0.25f, 0.25f);
    world.CreateBody(&definition)->CreateFixture(&box, 1.0f);
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? std::atoi(argv[1]) : 400;
    b2World world(b2Vec2(0.0f, -10.0f));
    b2BodyDef definition;
    b2Body *ground = world.CreateBody(&definition);
    b2EdgeShape edge;
    edge.SetTwoSided(b2Vec2(-100.0f, 0.0f), b2Vec2(100.0f, 0.0f));
    ground->CreateFixture(&edge, 0.0f);
    make_pyramid(world, 30);
    make_tumbler(world, ground);
    for (int step = 0; step < steps; step++) {
        if (step < 300)
            drop_box(world, step);
        world.Step(1.0f / 60.0f, 8, 3);
    }
    b2Vec2 sum(0.0f, 0.0f);
    for (b2Body *body = world.GetBodyList(); body; body = body->GetNext())
        sum += body->GetPosition();
    std::printf("%d %.4f %.4f\n", world.GetBodyCount(), (double)sum.x, (double)sum.y);
    return 0;
}
